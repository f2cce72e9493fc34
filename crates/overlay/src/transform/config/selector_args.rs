//! Selectors as kustomizations write them.

use serde::Deserialize;

use crate::resource::{LabelSelector, Pattern, ResId, Selector, WrongPart};
use smp_merge::schema::Gvk;
use smp_text::diagnostic::Result;
use smp_text::source::Span;
use smp_text::yaml::Spanned;

/// What `target` of a patch, and `select` and `reject` of a replacement, can say. All fields that
/// are given must fit; all but the last two are regular expressions for the whole text.
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
    /// Whether labels or annotations decide, which may change on the way.
    pub(crate) fn looks_at_labels(&self) -> bool {
        !self.label_selector.is_empty() || !self.annotation_selector.is_empty()
    }

    /// Where a part of the id is written; no place for one that is not.
    pub(crate) fn place_of(&self, part: WrongPart) -> Span {
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

    /// The selector that these arguments describe.
    ///
    /// # Errors
    /// Malformed expressions and label selectors, with their place.
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

    /// What it names, taken for names and not for expressions.
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

    /// Whether it says nothing about group, version, kind, name and namespace.
    #[must_use]
    pub fn names_nothing(&self) -> bool {
        self.in_order()[..5].iter().all(|(_, text)| text.is_empty())
    }

    fn in_order(&self) -> [(&'static str, &Spanned<String>); 7] {
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
    /// `kind=Deployment name=web`, for messages.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut blank = "";
        for (name, text) in self.in_order().into_iter().filter(|(_, text)| !text.is_empty()) {
            write!(f, "{blank}{name}={}", **text)?;
            blank = " ";
        }
        if blank.is_empty() { f.write_str("everything") } else { Ok(()) }
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
        assert!(!args.names_nothing());
        assert!(args.compile().expect("valid").kind.matches("Deployment"));
        let args = SelectorArgs { label_selector: "(".to_string().into(), ..SelectorArgs::default() };
        assert!(args.names_nothing() && args.compile().is_err());
        assert_eq!(SelectorArgs::default().to_string(), "everything");
    }
}
