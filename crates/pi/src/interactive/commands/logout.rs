//! `/logout [provider]`: removes a stored credential.

use crate::interactive::app::App;
use crate::interactive::logins;

pub(super) fn run(app: &mut App, provider: &str) {
    logins::close(app, provider);
}
