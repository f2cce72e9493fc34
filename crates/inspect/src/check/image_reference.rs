//! The grammar of image references, as kubelet and container runtimes apply it.

/// The maximum length of the path of an image.
const MAX_PATH: usize = 255;

/// The maximum length of a tag.
const MAX_TAG: usize = 128;

/// The supported digests and the length of their values.
const DIGESTS: [(&str, usize); 3] = [("sha256", 64), ("sha384", 96), ("sha512", 128)];

/// Characters that are invalid in images and occur in placeholders of other tools: `$(IMAGE)`, `{{ image }}`, `%IMAGE%`, `<image>`,
/// `#IMAGE#`.
const PLACEHOLDERS: [char; 9] = ['$', '{', '}', '%', '<', '>', '#', '~', '|'];

/// A part of an image that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidImagePart<'i> {
    /// The name of the part: `name`, `tag` or `digest`.
    pub part: &'static str,
    /// Its text.
    pub text: &'i str,
    /// The way to correct it.
    pub help: &'static str,
}

/// Returns the part for which container runtimes reject an image. Returns `None` for images that are empty, have leading
/// or trailing spaces, or contain a placeholder of another tool.
#[must_use]
pub fn invalid_image_part(image: &str) -> Option<InvalidImagePart<'_>> {
    if image.is_empty() || image.trim() != image || is_placeholder(image) {
        return None;
    }
    let (rest, digest) = match image.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (image, None),
    };
    // A colon before a slash belongs to the port of the registry.
    let path = rest.rfind('/').map_or(0, |slash| slash + 1);
    let (name, tag) = match rest[path..].split_once(':') {
        Some((last, tag)) => (&rest[..path + last.len()], Some(tag)),
        None => (rest, None),
    };
    let invalid = |part, text, help| Some(InvalidImagePart { part, text, help });
    match (invalid_name(name), tag, digest) {
        (Some(help), ..) => invalid("name", name, help),
        (None, Some(tag), _) if !is_tag(tag) => invalid("tag", tag, tag_help(tag)),
        (None, _, Some(digest)) if !is_digest(digest) => {
            invalid("digest", digest, "a digest is `sha256:` and 64 lowercase hexadecimal digits")
        }
        // The ID of an image.
        (None, None, None) if name.len() == 64 && is_hex(name) => {
            invalid("name", name, "write `NAME@sha256:DIGEST`: an ID alone is not a name")
        }
        _ => None,
    }
}

/// Returns the way to correct a name; `None` if it is valid.
fn invalid_name(name: &str) -> Option<&'static str> {
    let has_registry = |first: &str| first.contains(['.', ':']) || first.to_lowercase() != first;
    let registry = name.split_once('/').filter(|(first, _)| *first == "localhost" || has_registry(first));
    let path = registry.map_or(name, |(_, path)| path);
    let is_valid = |path: &str| path.split('/').all(is_path_component);
    // A registry that is not a host name may still be a path.
    if (registry.is_none_or(|(host, _)| is_host(host)) && is_valid(path)) || is_valid(name) {
        return (path.len() > MAX_PATH).then_some("shorten it to 255 characters");
    }
    Some(if name.contains("://") {
        "remove the scheme before the registry"
    } else if !is_valid(path) && is_valid(&path.to_lowercase()) {
        "write it in lowercase"
    } else {
        "write `[HOST[:PORT]/]NAME[:TAG][@DIGEST]`; names consist of lowercase letters and digits, with single `.`, \
         `_`, `-` or `/` between them"
    })
}

/// Returns true for a host name or an IPv6 address in brackets, with an optional port.
fn is_host(host: &str) -> bool {
    let (address, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, "")) => (address, None),
            Some((address, rest)) if rest.starts_with(':') => (address, Some(&rest[1..])),
            _ => return false,
        },
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    let is_label = |label: &str| {
        let is_inside = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(is_inside)
    };
    let is_address = if host.starts_with('[') {
        !address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':')
    } else {
        address.split('.').all(is_label)
    };
    is_address && port.is_none_or(is_port)
}

/// Returns true for lowercase letters and digits with separators between them: `.`, `_`, `__`, or any number of `-`.
fn is_path_component(component: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator =
        |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|separator| separator == b'-');
    component.starts_with(is_word)
        && component.ends_with(is_word)
        && component.split(is_word).all(is_separator)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    tag.starts_with(is_word)
        && tag.len() <= MAX_TAG
        && tag.chars().all(|c| is_word(c) || matches!(c, '.' | '-'))
}

fn tag_help(tag: &str) -> &'static str {
    if DIGESTS.iter().any(|(algorithm, _)| tag.starts_with(&format!("{algorithm}:"))) {
        "write a digest after `@`; in `images` of a kustomization, set `digest`"
    } else if tag.contains(':') {
        "write only the tag, without the name and without another `:`"
    } else {
        "a tag consists of at most 128 letters, digits, `_`, `.` and `-`, and does not start with `.` or `-`"
    }
}

fn is_digest(digest: &str) -> bool {
    let is_known = |(algorithm, length): &(&str, usize)| {
        let value = digest.strip_prefix(algorithm).and_then(|rest| rest.strip_prefix(':'));
        value.is_some_and(|value| value.len() == *length && is_hex(value))
    };
    DIGESTS.iter().any(is_known)
}

/// Returns true for lowercase hexadecimal digits.
fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns true if another tool replaces the image, or a part of it, before it reaches a cluster.
fn is_placeholder(image: &str) -> bool {
    // `ko` replaces images with its own scheme. A part in capitals, such as PROJECT_ID, is treated as a placeholder.
    let is_in_capitals = |part: &str| {
        part.contains(|c: char| c.is_ascii_uppercase()) && !part.contains(|c: char| c.is_ascii_lowercase())
    };
    let is_marked = |part: &str| part.starts_with("__") && part.ends_with("__");
    image.contains(PLACEHOLDERS)
        || image.starts_with("ko://")
        || image.matches('@').count() > 1
        || image.split(['/', ':', '@']).any(|part| is_in_capitals(part) || is_marked(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_valid_as_in_container_runtimes() {
        let hex = "0123456789abcdef".repeat(4);
        let digest = format!("nginx:1.27@sha256:{hex}");
        let long_tag = format!("nginx:{}", "a".repeat(MAX_TAG));
        let valid = [
            "nginx",
            "nginx:1.27-alpine_x.y",
            "library/a.b_c__d---e/f",
            "Registry/app",
            "ghcr.io/foo/x:V2",
            "localhost:5000/x",
            "localhost/x:1",
            "localhost:5000",
            "[::1]:5000/x:1",
            "my_host.io/x",
            &digest,
            &format!("nginx@sha512:{hex}{hex}"),
            &long_tag,
            &"a".repeat(MAX_PATH),
        ];
        for image in valid {
            assert_eq!(invalid_image_part(image), None, "{image}");
        }
        for image in
            ["", " nginx", "$(IMAGE)", "a:${TAG}", "{{ .image }}", "%IMAGE%", "<image>", "ko://a.b/C"]
        {
            assert_eq!(invalid_image_part(image), None, "{image}");
        }
        for image in ["REPLACE_ME", "gcr.io/PROJECT-ID/x", "a@sha256:DIGEST_HERE", "@a@:@b@", "__image__:1"] {
            assert_eq!(invalid_image_part(image), None, "{image}");
        }
    }

    #[test]
    fn invalid_part_is_found() {
        let (long_tag, long_name) = (format!("a:{}", "b".repeat(MAX_TAG + 1)), "a".repeat(MAX_PATH + 1));
        let id = "0123456789abcdef".repeat(4);
        let table = [
            ("foo:bar:baz", "tag", "bar:baz"),
            ("nginx: 1.0", "tag", " 1.0"),
            ("nginx:a b", "tag", "a b"),
            ("nginx:", "tag", ""),
            ("nginx::1.0", "tag", ":1.0"),
            ("nginx:-1", "tag", "-1"),
            ("nginx:sha256:abc", "tag", "sha256:abc"),
            ("nginx:é", "tag", "é"),
            (&long_tag, "tag", &long_tag[2..]),
            ("nginx@abc", "digest", "abc"),
            ("nginx@", "digest", ""),
            ("nginx@sha256:abc", "digest", "sha256:abc"),
            ("nginx@md5:0123456789abcdef0123456789abcdef", "digest", "md5:0123456789abcdef0123456789abcdef"),
            ("ghcr.io/Foo/x:v2", "name", "ghcr.io/Foo/x"),
            ("Nginx", "name", "Nginx"),
            ("https://ghcr.io/x:1", "name", "https://ghcr.io/x"),
            ("a b/c", "name", "a b/c"),
            ("a//b", "name", "a//b"),
            ("/a", "name", "/a"),
            ("a/", "name", "a/"),
            ("a___b", "name", "a___b"),
            ("a._b", "name", "a._b"),
            ("-a", "name", "-a"),
            (":1", "name", ""),
            ("@", "name", ""),
            ("host:port/a", "name", "host:port/a"),
            ("[::1/a", "name", "[::1/a"),
            ("[]/a", "name", "[]/a"),
            ("-a.b:1/c", "name", "-a.b:1/c"),
            (&long_name, "name", &long_name),
            (&id, "name", &id),
        ];
        for (image, part, text) in table {
            let found = invalid_image_part(image).map(|found| (found.part, found.text));
            assert_eq!(found, Some((part, text)), "{image}");
        }
    }

    #[test]
    fn help_names_the_usual_mistake() {
        for (image, help) in [
            ("https://ghcr.io/x", "scheme"),
            ("ghcr.io/Foo/x", "lowercase"),
            ("nginx:sha256:abc", "`digest`"),
            ("nginx:nginx:1", "only the tag"),
        ] {
            let found = invalid_image_part(image).expect(image);
            assert!(found.help.contains(help), "{image}: {}", found.help);
        }
    }
}
