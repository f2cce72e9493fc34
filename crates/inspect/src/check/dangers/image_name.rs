//! The parts of the name of an image.

/// The name of an image: registry, repository, tag and digest.
#[derive(Debug, Clone, Copy)]
pub struct ImageName<'i> {
    /// The name without tag and digest.
    name: &'i str,
    /// The tag.
    pub tag: Option<&'i str>,
    /// The digest.
    pub digest: Option<&'i str>,
}

impl<'i> ImageName<'i> {
    /// Splits the name of an image.
    #[must_use]
    pub fn parse(image: &'i str) -> Self {
        let (rest, digest) = match image.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (image, None),
        };
        // A colon before a slash belongs to the port of the registry.
        match rest.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
            Some((name, tag)) => Self { name, tag: Some(tag), digest },
            None => Self { name: rest, tag: None, digest },
        }
    }

    /// Returns the registry and repository, with the defaults of container runtimes.
    #[must_use]
    pub fn repository(&self) -> String {
        let is_registry = |part: &str| part.contains(['.', ':']) || part == "localhost";
        match self.name.split_once('/') {
            Some((registry, _)) if is_registry(registry) => self.name.to_string(),
            Some(_) => format!("docker.io/{}", self.name),
            None => format!("docker.io/library/{}", self.name),
        }
    }

    /// Returns true if the image may change although its name stays the same: there is no digest, and the tag contains
    /// neither a number nor a variable.
    #[must_use]
    pub fn is_mutable(&self) -> bool {
        self.digest.is_none()
            && !self.tag.is_some_and(|tag| tag.contains(|c: char| c.is_ascii_digit() || c == '$'))
    }

    /// Returns the major version of the tag: the number at its start, with or without the prefix `v`. Returns `None` if
    /// the tag seems to begin with a hash or a date.
    #[must_use]
    pub fn major(&self) -> Option<u64> {
        let tag = self.tag?;
        let number = tag.strip_prefix('v').unwrap_or(tag);
        let digits = number.split(|c: char| !c.is_ascii_digit()).next()?;
        // A hash or date is not a version.
        let is_version = match number[digits.len()..].chars().next() {
            None => digits.len() <= 3,
            Some(c) => matches!(c, '.' | '-' | '_' | '+') && digits.len() <= 4,
        };
        digits.parse().ok().filter(|_| is_version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split() {
        let table = [
            ("nginx", "docker.io/library/nginx", None, None),
            ("nginx:1.27", "docker.io/library/nginx", Some("1.27"), Some(1)),
            ("example.com:5000/a/b:v2.1@sha256:0", "example.com:5000/a/b", Some("v2.1"), Some(2)),
            ("a/b:20240101", "docker.io/a/b", Some("20240101"), None),
            ("localhost/a:8f3c2d1", "localhost/a", Some("8f3c2d1"), None),
        ];
        for image in ["nginx", "nginx:latest", "a/b:main", "a/b:dev"] {
            assert!(ImageName::parse(image).is_mutable(), "{image}");
        }
        for (image, repository, tag, major) in table {
            let name = ImageName::parse(image);
            assert_eq!(
                (name.repository().as_str(), name.tag, name.major()),
                (repository, tag, major),
                "{image}"
            );
            assert_eq!(name.is_mutable(), tag.is_none(), "{image}");
        }
    }
}
