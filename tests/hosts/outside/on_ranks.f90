! on_ranks_fortran FIELD OPERATOR SOLVER GRID OUT, under mpirun: as on_ranks.c, links in ILDG's order.
program on_ranks
  use, intrinsic :: iso_c_binding
  use mpi
  use quadrille
  implicit none
  type(c_ptr) :: context, read, gauge, op, solver
  integer(c_int) :: dims(4), part(4), origin(4)
  integer :: spin, color, unit, rank, error
  complex(c_double_complex), allocatable, target :: links(:, :, :, :), b(:, :, :), x(:, :, :)
  type(quadrille_report) :: reports(1)
  character(100) :: text

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call check(quadrille_context_create_mpi('{threads: 1, backend: ' // backend() // ', grid: ' // argument(4) // '}', &
                                          MPI_COMM_WORLD, context))
  call check(quadrille_gauge_create(context, "{file: '" // argument(1) // "'}", read))
  call check(quadrille_gauge_dims(read, dims))
  call check(quadrille_gauge_part(read, part, origin))
  allocate(links(3, 3, 4, product(part)), b(3, 4, product(part)), x(3, 4, product(part)))
  call check(quadrille_gauge_to_memory(read, '', [c_loc(links)]))
  write(text, '(a, 3(i0, ", "), i0, a)') '{dims: [', dims, ']}'
  call check(quadrille_gauge_from_memory(context, trim(text), [c_loc(links)], gauge))
  call check(quadrille_operator_create(gauge, argument(2), op))
  call check(quadrille_solver_create(op, argument(3), solver))
  write(text, '(i0)') rank
  open(newunit=unit, file=argument(5) // '.' // trim(text), access='stream', form='unformatted', status='replace')
  write(unit) part, origin
  do spin = 1, 4
    do color = 1, 3
      b = 0
      if (all(origin == 0)) b(color, spin, 1) = 1
      call check(quadrille_solver_solve(solver, '{}', [c_loc(b)], [c_loc(x)], reports))
      if (rank == 0) print '(i0, 1x, es24.17)', reports(1)%iterations, reports(1)%residual
      write(unit) x
    end do
  end do
  close(unit)
  call check(quadrille_context_destroy(context))
  call MPI_Finalize(error)

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    integer :: ignored
    if (status == quadrille_done) return
    print '(a)', quadrille_message(c_null_ptr)
    call MPI_Abort(MPI_COMM_WORLD, 1, ignored)
  end subroutine

  function backend() result(name)
    character(:), allocatable :: name
    character(20) :: asked
    integer :: length
    call get_environment_variable('QUADRILLE_TEST_BACKEND', asked, length)
    name = 'cpu'
    if (length > 0) name = trim(asked)
  end function
  function argument(k) result(text)
    integer, intent(in) :: k
    character(:), allocatable :: text
    integer :: length
    call get_command_argument(k, length=length)
    allocate(character(length) :: text)
    call get_command_argument(k, text)
  end function
end program
