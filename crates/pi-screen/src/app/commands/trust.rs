//! `/trust`: shows whether the project is trusted, and changes it.

use crate::app::App;
use crate::app::trust;

pub(super) fn run(app: &mut App, _argument: &str) {
    trust::change(app);
}
