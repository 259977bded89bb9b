"""Names of functions are short, and still tell which function it is."""

import pytest
from crumple.observation import code_names


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("alloc::vec::Vec<T,A>::push::h0123456789abcdef", "Vec::push"),
        ("<alloc::vec::Vec<u8> as std::io::Write>::write_all", "Vec::write_all"),
        ("<core::iter::Map<I,F> as Iterator>::next", "Map::next"),
        ("std::vector<int, std::allocator<int> >::push_back(int const&)", "vector::push_back"),
        ("v8::internal::(anonymous namespace)::Scavenger<A>::Process(int)", "Scavenger::Process"),
        # The record had no room for the rest.
        ("std::__detail::_Map_base<v8::internal::MemoryChunk*, std::pair<v8::inter", "__detail::_Map_base"),
        ("f<A->B>", "f"),
        ("std::function<void ()>::operator()() const", "function<void ()>::operator()() const"),
        ("ns::operator<", "ns::operator<"),
        ("github.com/valyala/fasthttp.(*Server).serve", "fasthttp.(*Server).serve"),
        ("runtime.(*spanQueue).put", "runtime.(*spanQueue).put"),
        ("main.main.func1", "main.main.func1"),
        ("foo(int (*)(char))", "foo"),
        ("_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault"),
        ("JS:*handler file:///srv/app/server.js:12:3", "JS:*handler file:///srv/app/server.js:12:3"),
        ("a>b", "a>b"),
        ("<", "<"),
        ("x" * 70, f"{'x' * 59}…"),
    ],
)
def test_names(name: str, short: str) -> None:
    assert code_names.short(name) == short
