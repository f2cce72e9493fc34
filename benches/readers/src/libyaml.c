// Reads a text with libyaml.

#include <yaml.h>

// Returns the number of events, or 0 if libyaml rejects the text.
size_t libyaml_events(const unsigned char *text, size_t length) {
    yaml_parser_t parser;
    yaml_event_t event;
    size_t count = 0;
    int is_last = 0;
    if (!yaml_parser_initialize(&parser)) {
        return 0;
    }
    yaml_parser_set_input_string(&parser, text, length);
    while (!is_last) {
        if (!yaml_parser_parse(&parser, &event)) {
            count = 0;
            break;
        }
        count++;
        is_last = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return count;
}
