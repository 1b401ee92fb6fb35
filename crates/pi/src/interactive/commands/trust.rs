//! `/trust`: shows whether the project is trusted, and changes it.

use crate::interactive::app::App;
use crate::interactive::trust;

pub(super) fn run(app: &mut App, _argument: &str) {
    trust::change(app);
}
