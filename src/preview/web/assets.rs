//! The files of the page. They are embedded in the program.

/// Returns the media type and the text of a file.
pub(super) fn find(path: &str) -> Option<(&'static str, &'static str)> {
    let found = FILES.iter().find(|(known, _)| *known == path || (path == "/" && *known == "/index.html"));
    found.map(|(name, text)| (media_type(name), *text))
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        _ => "image/svg+xml",
    }
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$((concat!("/", $name), include_str!(concat!("assets/", $name)))),*]
    };
}

const FILES: [(&str, &str); 27] = files![
    "index.html",
    "app.css",
    "icon.svg",
    "js/address.js",
    "js/api.js",
    "js/blocks.js",
    "js/changes.js",
    "js/details.js",
    "js/diff.js",
    "js/dom.js",
    "js/editor.js",
    "js/keys.js",
    "js/layers.js",
    "js/lines.js",
    "js/list.js",
    "js/main.js",
    "js/navigation.js",
    "js/output.js",
    "js/provenance.js",
    "js/search.js",
    "js/secrets.js",
    "js/settings.js",
    "js/source.js",
    "js/state.js",
    "js/status.js",
    "js/summary.js",
    "js/yaml.js",
];
