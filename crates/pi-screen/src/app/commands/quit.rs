//! `/quit`.

use crate::app::App;

pub(super) fn run(app: &mut App, _argument: &str) {
    app.quit();
}
