! blocks_on_ranks_fortran H S SIZES ELECTRONS EPS, under mpirun: TRS4 for H and S in ELSI's CSC, of which each rank has
! successive columns. Rank 0 says tr(P H) and tr(P S) of the columns of P.
program blocks_on_ranks
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  interface
    integer(c_int) function grid_create(communicator, rows, columns, grid) &
        bind(c, name='quadrille_block_grid_create_fortran')
      import
      integer(c_int), value :: communicator
      integer(c_int32_t), value :: rows, columns
      type(c_ptr) :: grid
    end function
    integer(c_int) function from_columns(grid, blocks, sizes, base, count, columns, starts, rows, values, matrix) &
        bind(c, name='quadrille_block_matrix_from_columns')
      import
      type(c_ptr), value :: grid, columns
      integer(c_int32_t), value :: blocks, base
      integer(c_int64_t), value :: count
      integer(c_int32_t) :: sizes(*), rows(*)
      integer(c_int64_t) :: starts(*)
      real(c_double) :: values(*)
      type(c_ptr) :: matrix
    end function
    integer(c_int) function to_columns(matrix, base, count, columns, starts, capacity, rows, values) &
        bind(c, name='quadrille_block_matrix_to_columns')
      import
      type(c_ptr), value :: matrix, columns, rows, values
      integer(c_int32_t), value :: base
      integer(c_int64_t), value :: count, capacity
      integer(c_int64_t) :: starts(*)
    end function
    integer(c_int) function density(h, s, method, electrons, mu, eps, p, energy, converged) &
        bind(c, name='quadrille_block_density')
      import
      type(c_ptr), value :: h, s
      character(kind=c_char) :: method(*)
      real(c_double), value :: electrons, eps
      real(c_double) :: mu, energy
      type(c_ptr) :: p
      integer(c_int32_t) :: converged
    end function
  end interface
  type part
    integer(c_int64_t), allocatable :: starts(:)
    integer(c_int32_t), allocatable :: rows(:)
    real(c_double), allocatable :: values(:)
  end type
  type(part), target :: h, s, p
  type(c_ptr) :: grid, matrix_h, matrix_s, matrix_p
  character(len=4096) :: words(5)
  integer(c_int32_t), allocatable :: sizes(:)
  integer(c_int32_t) :: converged
  integer(c_int64_t) :: first, last, k, l, column
  real(c_double) :: mu, energy, electrons, eps, within
  integer :: rank, ranks, ierr, i, unit

  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  call mpi_comm_size(mpi_comm_world, ranks, ierr)
  do i = 1, 5
    call get_command_argument(i, words(i))
  end do
  read (words(4), *) electrons
  read (words(5), *) eps
  call read_part(words(1), h)
  call read_part(words(2), s)
  allocate (sizes(0))
  open (newunit=unit, file=words(3), status='old')
  read (unit, '(a)') words(3)
  close (unit)
  do while (len_trim(words(3)) > 0)
    sizes = [sizes, 0]
    read (words(3), *) sizes(size(sizes))
    words(3) = adjustl(words(3))
    words(3) = words(3)(index(words(3), ' '):)
  end do
  call check(grid_create(mpi_comm_world, 0, 0, grid))
  matrix_h = matrix_of(h)
  matrix_s = matrix_of(s)
  call check(density(matrix_h, matrix_s, 'trs4' // c_null_char, electrons, mu, eps, matrix_p, energy, converged))
  allocate (p%starts(last - first + 2))
  call check(to_columns(matrix_p, 1, last - first + 1, c_null_ptr, p%starts, 0_c_int64_t, c_null_ptr, c_null_ptr))
  allocate (p%rows(p%starts(last - first + 2)), p%values(p%starts(last - first + 2)))
  call check(to_columns(matrix_p, 1, last - first + 1, c_null_ptr, p%starts, size(p%rows, kind=c_int64_t), &
                        c_loc(p%rows), c_loc(p%values)))
  within = 0
  do column = 1, last - first + 1
    do k = s%starts(column), s%starts(column + 1) - 1
      do l = p%starts(column), p%starts(column + 1) - 1
        if (s%rows(k) == p%rows(l)) within = within + s%values(k) * p%values(l)
      end do
    end do
  end do
  call mpi_allreduce(mpi_in_place, within, 1, mpi_double_precision, mpi_sum, mpi_comm_world, ierr)
  if (rank == 0) print '(2es25.16)', energy, within
  call mpi_finalize(ierr)

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status /= 0) call mpi_abort(mpi_comm_world, status, ierr)
  end subroutine

  type(c_ptr) function matrix_of(of)
    type(part), intent(inout) :: of
    call check(from_columns(grid, size(sizes), sizes, 1, last - first + 1, c_null_ptr, of%starts, of%rows, of%values, &
                            matrix_of))
  end function

  ! Columns first to last of this rank.
  subroutine read_part(path, of)
    character(len=*), intent(in) :: path
    type(part), intent(out) :: of
    integer(c_int64_t) :: head(16), n, from, count
    integer(c_int64_t), allocatable :: all(:)
    integer :: file
    open (newunit=file, file=path, access='stream', form='unformatted', status='old')
    read (file) head
    n = head(4)
    allocate (all(n + 1))
    read (file) all(1:n)
    all(n + 1) = head(6) + 1
    first = n * rank / ranks + 1
    last = n * (rank + 1) / ranks
    from = all(first)
    count = all(last + 1) - from
    of%starts = all(first:last + 1) - from + 1
    allocate (of%rows(count), of%values(count))
    read (file, pos=128 + 8 * n + 4 * (from - 1) + 1) of%rows
    read (file, pos=128 + 8 * n + 4 * head(6) + 8 * (from - 1) + 1) of%values
    close (file)
  end subroutine
end program
