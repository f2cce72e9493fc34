//! Selectors in kustomizations.

use serde::Deserialize;

use crate::resource::{LabelSelector, Pattern, ResId, Selector, WrongPart};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::Result;
use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// The `target` of a patch, or `select` or `reject` of a replacement.
///
/// All given fields must match. All but the last two are regular expressions for the whole text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SelectorArgs {
    /// The API group.
    pub group: Spanned<String>,
    /// The version.
    pub version: Spanned<String>,
    /// The kind.
    pub kind: Spanned<String>,
    /// The original or current name.
    pub name: Spanned<String>,
    /// The original or current namespace.
    pub namespace: Spanned<String>,
    /// A label selector for the annotations.
    pub annotation_selector: Spanned<String>,
    /// A label selector for the labels.
    pub label_selector: Spanned<String>,
}

impl SelectorArgs {
    /// Returns true if the selector depends on labels or annotations, which may change during the build.
    pub(crate) fn uses_labels(&self) -> bool {
        !self.label_selector.is_empty() || !self.annotation_selector.is_empty()
    }

    /// Returns the location of the field for a part of the ID, or no location if the field is not given.
    pub(crate) fn location_of(&self, part: WrongPart) -> Span {
        match part {
            WrongPart::ApiVersion => [self.group.span, self.version.span],
            WrongPart::Kind => [self.kind.span; 2],
            WrongPart::Name => [self.name.span; 2],
            WrongPart::Namespace => [self.namespace.span, self.name.span],
        }
        .into_iter()
        .find(|span| !span.is_none())
        .unwrap_or_default()
    }

    /// Compiles the selector.
    ///
    /// # Errors
    /// A regular expression or label selector is malformed. The error has the location.
    pub fn compile(&self) -> Result<Selector> {
        let pattern = |text: &Spanned<String>| Pattern::new(text).map_err(|error| error.at(text.span));
        let labels = |text: &Spanned<String>| LabelSelector::parse(text).map_err(|error| error.at(text.span));
        Ok(Selector {
            group: pattern(&self.group)?,
            version: pattern(&self.version)?,
            kind: pattern(&self.kind)?,
            name: pattern(&self.name)?,
            namespace: pattern(&self.namespace)?,
            labels: labels(&self.label_selector)?,
            annotations: labels(&self.annotation_selector)?,
        })
    }

    /// Returns the fields as an ID. Regular expressions are taken literally.
    pub(crate) fn id(&self) -> ResId {
        let [group, version, kind] =
            [&self.group, &self.version, &self.kind].map(|text| text.as_str().into());
        ResId {
            gvk: Gvk { group, version, kind },
            name: self.name.as_str().into(),
            namespace: self.namespace.as_str().into(),
            ..ResId::default()
        }
    }

    /// Returns true if group, version, kind, name and namespace are all empty.
    #[must_use]
    pub fn has_empty_id(&self) -> bool {
        self.fields()[..5].iter().all(|(_, text)| text.is_empty())
    }

    fn fields(&self) -> [(&'static str, &Spanned<String>); 7] {
        [
            ("group", &self.group),
            ("version", &self.version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("annotationSelector", &self.annotation_selector),
            ("labelSelector", &self.label_selector),
        ]
    }
}

impl std::fmt::Display for SelectorArgs {
    /// Formats the selector for messages: `kind=Deployment name=web`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut separator = "";
        for (name, text) in self.fields().into_iter().filter(|(_, text)| !text.is_empty()) {
            write!(f, "{separator}{name}={}", **text)?;
            separator = " ";
        }
        if separator.is_empty() { f.write_str("everything") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_compiled_and_shown() {
        let args = SelectorArgs {
            kind: "Deploy.*".to_string().into(),
            label_selector: "app=web".to_string().into(),
            ..SelectorArgs::default()
        };
        assert_eq!(args.to_string(), "kind=Deploy.* labelSelector=app=web");
        assert!(!args.has_empty_id());
        assert!(args.compile().expect("valid").kind.matches("Deployment"));
        let args = SelectorArgs { label_selector: "(".to_string().into(), ..SelectorArgs::default() };
        assert!(args.has_empty_id() && args.compile().is_err());
        assert_eq!(SelectorArgs::default().to_string(), "everything");
    }
}
