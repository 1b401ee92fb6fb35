//! `/login [provider]`: stores the key of a provider.

use crate::interactive::app::App;
use crate::interactive::logins;

pub(super) fn run(app: &mut App, provider: &str) {
    logins::open(app, provider);
}
