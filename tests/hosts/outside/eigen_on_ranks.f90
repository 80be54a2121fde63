! eigen_on_ranks_fortran N, under mpirun: A x = lambda B x on a grid of ranks for A = tridiagonal(-1, 2, -1) and
! B = tridiagonal(1, 4, 1), whose vectors are sines. Rank 0 says how far values and vectors are from these.
program eigen_on_ranks
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  type, bind(c) :: part_type
    integer(c_int32_t) :: struct_size, rows, columns, row, column, padding
    integer(c_int64_t) :: block, local_rows, local_columns
  end type
  type, bind(c) :: options_type
    integer(c_int32_t) :: struct_size
    character(kind=c_char) :: triangle, vectors, padding(2)
    integer(c_int64_t) :: first, last
    real(c_double) :: low, high
    integer(c_int64_t) :: room
  end type
  interface
    integer(c_int) function grid_create(communicator, n, distribution, grid) &
        bind(c, name='quadrille_eigen_grid_create_fortran')
      import
      integer(c_int), value :: communicator
      integer(c_int64_t), value :: n
      type(c_ptr), value :: distribution
      type(c_ptr) :: grid
    end function
    integer(c_int) function grid_part(grid, part) bind(c, name='quadrille_eigen_grid_part')
      import
      type(c_ptr), value :: grid
      type(part_type) :: part
    end function
    integer(c_int) function factor_create(grid, triangle, b, ldb, factor) &
        bind(c, name='quadrille_eigen_factor_create_double_on')
      import
      type(c_ptr), value :: grid
      character(kind=c_char), value :: triangle
      real(c_double) :: b(*)
      integer(c_int64_t), value :: ldb
      type(c_ptr) :: factor
    end function
    integer(c_int) function solve(grid, options, a, lda, factor, values, vectors, ldv, report) &
        bind(c, name='quadrille_eigen_double_on')
      import
      type(c_ptr), value :: grid, factor, report
      type(options_type) :: options
      real(c_double) :: a(*), values(*), vectors(*)
      integer(c_int64_t), value :: lda, ldv
    end function
    subroutine factor_destroy(factor) bind(c, name='quadrille_eigen_factor_destroy')
      import
      type(c_ptr), value :: factor
    end subroutine
    subroutine grid_destroy(grid) bind(c, name='quadrille_eigen_grid_destroy')
      import
      type(c_ptr), value :: grid
    end subroutine
  end interface
  type(c_ptr) :: grid, factor
  type(part_type) :: part
  type(options_type) :: options
  real(c_double), allocatable :: a(:, :), b(:, :), x(:, :), values(:)
  real(c_double) :: off(2), angle
  integer(c_int64_t) :: n, i, j, row, column
  character(len=32) :: word
  integer :: rank, ierr

  call mpi_init(ierr)
  call mpi_comm_rank(mpi_comm_world, rank, ierr)
  call get_command_argument(1, word)
  read(word, *) n
  call check(grid_create(mpi_comm_world, n, c_null_ptr, grid))
  part%struct_size = int(c_sizeof(part), c_int32_t)
  call check(grid_part(grid, part))
  allocate(a(part%local_rows, part%local_columns), b(part%local_rows, part%local_columns), &
           x(part%local_rows, part%local_columns), values(n))
  do j = 1, part%local_columns
    do i = 1, part%local_rows
      row = whole(i, part%row, part%rows)
      column = whole(j, part%column, part%columns)
      a(i, j) = merge(2d0, merge(-1d0, 0d0, abs(row - column) == 1), row == column)
      b(i, j) = merge(4d0, merge(1d0, 0d0, abs(row - column) == 1), row == column)
    end do
  end do
  call check(factor_create(grid, 'L', b, max(1_c_int64_t, part%local_rows), factor))
  options = options_type(int(c_sizeof(options), c_int32_t), 'L', 'A', c_null_char, 0, 0, 0d0, 0d0, 0)
  call check(solve(grid, options, a, max(1_c_int64_t, part%local_rows), factor, values, x, &
                   max(1_c_int64_t, part%local_rows), c_null_ptr))
  off = 0
  do j = 1, n
    angle = j * acos(-1d0) / (n + 1)
    off(1) = max(off(1), abs(values(j) - (2 - 2 * cos(angle)) / (4 + 2 * cos(angle))))
  end do
  do j = 1, part%local_columns
    angle = whole(j, part%column, part%columns) * acos(-1d0) / (n + 1)
    do i = 1, part%local_rows
      row = whole(i, part%row, part%rows)
      off(2) = max(off(2), abs(abs(x(i, j)) - abs(sin(row * angle)) * sqrt(2 / ((n + 1) * (4 + 2 * cos(angle))))))
    end do
  end do
  call factor_destroy(factor)
  call grid_destroy(grid)
  call mpi_allreduce(mpi_in_place, off, 2, mpi_double_precision, mpi_max, mpi_comm_world, ierr)
  if (rank == 0) print '(a, es9.2, a, es9.2)', 'values', off(1), ', vectors', off(2)
  call mpi_finalize(ierr)

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == 0) return
    print *, 'status', status
    call mpi_abort(mpi_comm_world, 1, ierr)
  end subroutine

  ! The row or column of the matrix, from 1, that is a part's.
  integer(c_int64_t) function whole(local, place, places)
    integer(c_int64_t), intent(in) :: local
    integer(c_int32_t), intent(in) :: place, places
    whole = ((local - 1) / part%block * places + place) * part%block + mod(local - 1, part%block) + 1
  end function
end program
