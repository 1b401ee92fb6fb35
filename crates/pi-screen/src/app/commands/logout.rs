//! `/logout [provider]`: removes a stored credential.

use crate::app::App;
use crate::app::logins;

pub(super) fn run(app: &mut App, provider: &str) {
    logins::close(app, provider);
}
