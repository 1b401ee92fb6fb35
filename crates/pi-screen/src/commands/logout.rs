//! `/logout [provider]`: removes a stored credential.

use crate::app::App;
use crate::logins;

pub(super) fn run(app: &mut App, provider: &str) {
    logins::close(app, provider);
}
