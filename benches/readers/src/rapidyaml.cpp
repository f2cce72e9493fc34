// Reads a text with rapidyaml.

#include <cstddef>

#include <ryml.hpp>

namespace {

struct Rejected {};

[[noreturn]] void reject_basic(ryml::csubstr, ryml::ErrorDataBasic const &, void *) { throw Rejected(); }
[[noreturn]] void reject_parse(ryml::csubstr, ryml::ErrorDataParse const &, void *) { throw Rejected(); }
[[noreturn]] void reject_visit(ryml::csubstr, ryml::ErrorDataVisit const &, void *) { throw Rejected(); }

} // namespace

// Sets the handling of errors. Has to be called first.
extern "C" void rapidyaml_prepare() {
    ryml::set_callbacks(ryml::Callbacks()
                            .set_error_basic(reject_basic)
                            .set_error_parse(reject_parse)
                            .set_error_visit(reject_visit));
}

// Returns the number of nodes of the tree, or 0 if rapidyaml rejects the text.
extern "C" std::size_t rapidyaml_nodes(const char *text, std::size_t length) {
    try {
        const ryml::Tree tree = ryml::parse_in_arena(ryml::csubstr(text, length));
        return tree.size();
    } catch (Rejected const &) {
        return 0;
    }
}
