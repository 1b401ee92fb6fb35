//! `/changelog`: shows what changed, by version.

use crate::app::App;
use crate::app::header;
use crate::document::Document;

pub(super) fn run(app: &mut App, _argument: &str) {
    app.transcript.push(Box::new(Document::new(header::changelog())));
}
