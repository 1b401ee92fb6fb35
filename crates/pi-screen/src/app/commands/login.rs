//! `/login [provider]`: stores the key of a provider.

use crate::app::App;
use crate::app::logins;

pub(super) fn run(app: &mut App, provider: &str) {
    logins::open(app, provider);
}
