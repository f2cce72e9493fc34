//! The output formats of changes.
//!
//! `lines` formats the changes of single objects. It is used for comparisons of builds and for those with a cluster.
//! The other files format a whole [`Review`](super::Review).

mod columns;
mod fold;
mod html;
mod json;
mod lines;
mod markdown;
mod summary;
mod text;

pub use self::columns::{ColumnRow, side_by_side_review};
pub use self::fold::{FoldedChange, fold};
pub use self::html::review_to_html;
pub use self::json::review_to_json;
pub use self::lines::{
    ShownObject, change_json, diff_line_color, field_lines, line_diff, path_lines, short_value, short_values,
    unified_lines,
};
pub use self::markdown::{MAX_COMMENT, review_to_comments, review_to_markdown};
pub use self::summary::summary_lines;
pub use self::text::{paths_of_review, review_to_text, summary, unified_review};
