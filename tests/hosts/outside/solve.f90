! solve_fortran FIELD OPERATOR SOLVER OUT: as solve.c, links in ILDG's order.
program solve
  use, intrinsic :: iso_c_binding
  use quadrille
  implicit none
  type(c_ptr) :: context, read, gauge, op, solver
  integer(c_int) :: dims(4)
  integer :: spin, color, unit
  complex(c_double_complex), allocatable, target :: links(:, :, :, :), b(:, :, :), x(:, :, :)
  type(quadrille_report) :: reports(1)
  character(100) :: text
  complex(c_double_complex), allocatable, target :: half(:, :, :), first(:, :, :), second(:, :, :)
  type(quadrille_report) :: of_shifts(2)

  call check(quadrille_context_create('{threads: 1, backend: ' // backend() // '}', context))
  call check(quadrille_gauge_create(context, "{file: '" // argument(1) // "'}", read))
  call check(quadrille_gauge_dims(read, dims))
  allocate(links(3, 3, 4, product(dims)), b(3, 4, product(dims)), x(3, 4, product(dims)))
  call check(quadrille_gauge_to_memory(read, '', [c_loc(links)]))
  write(text, '(a, 3(i0, ", "), i0, a)') '{dims: [', dims, ']}'
  call check(quadrille_gauge_from_memory(context, trim(text), [c_loc(links)], gauge))
  call check(quadrille_operator_create(gauge, argument(2), op))
  call check(quadrille_solver_create(op, argument(3), solver))
  open(newunit=unit, file=argument(4), access='stream', form='unformatted', status='replace')
  do spin = 1, 4
    do color = 1, 3
      b = 0
      b(color, spin, 1) = 1
      call check(quadrille_solver_solve(solver, '{}', [c_loc(b)], [c_loc(x)], reports))
      print '(i0, 1x, es24.17)', reports(1)%iterations, reports(1)%residual
      write(unit) x
    end do
  end do
  close(unit)

  ! (N^+ N + shift) x = b: both residuals are met, and the larger shift gives the smaller solution.
  allocate(half(3, 4, product(dims) / 2), first(3, 4, product(dims) / 2), second(3, 4, product(dims) / 2))
  half = 0
  half(1, 1, 1) = 1
  call check(quadrille_solver_create(op, '{type: cg, tolerance: 1e-8}', solver))
  call check(quadrille_solver_solve_shifts(solver, '{subset: even}', [0._c_double, 0.5_c_double], c_loc(half), &
                                           [c_loc(first), c_loc(second)], of_shifts))
  if (any(of_shifts%residual > 1e-8)) error stop 'a shift misses its target'
  if (.not. (first(1, 1, 1)%re > second(1, 1, 1)%re .and. second(1, 1, 1)%re > 0)) error stop 'shifts are mixed up'
  if (quadrille_operator_set_clover(op, '{}', c_loc(half)) /= quadrille_invalid_input) error stop 'Wilson has no clover term'
  call check(quadrille_context_destroy(context))
  if (quadrille_solver_destroy(solver) /= quadrille_invalid_handle) error stop 'a solver outlives its context'

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == quadrille_done) return
    print '(a)', quadrille_message(c_null_ptr)
    error stop 1
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
