from hypothesis import given
from hypothesis import strategies as st

from coterie.simulation.fleet.draws import epoch_orders
from coterie_learning.random import epoch_order


@given(
    devices=st.lists(st.tuples(st.integers(1, 90), st.integers(0, 2**53)), min_size=1, max_size=9),
    epoch=st.integers(0, 5),
)
def test_orders_of_many_are_those_of_each(devices: list[tuple[int, int]], epoch: int) -> None:
    samples, seeds = [count for count, _ in devices], [seed for _, seed in devices]
    orders = epoch_orders(samples, seeds, epoch)
    assert [order.tolist() for order in orders] == [epoch_order(count, seed, epoch).tolist() for count, seed in devices]
