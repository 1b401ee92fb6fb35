//! `/changelog`: shows what changed, by version.

use crate::interactive::app::App;
use crate::interactive::document::Document;
use crate::interactive::header;

pub(super) fn run(app: &mut App, _argument: &str) {
    app.transcript.push(Box::new(Document::new(header::changelog())));
}
