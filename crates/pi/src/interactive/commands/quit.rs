//! `/quit`.

use crate::interactive::app::App;

pub(super) fn run(app: &mut App, _argument: &str) {
    app.quit();
}
