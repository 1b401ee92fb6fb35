//! `/demo`: runs `pi demo`, which needs no key, and shows what it prints.

use crate::app::App;
use crate::app::submit;

pub(super) fn run(app: &mut App, _argument: &str) {
    let program = match std::env::current_exe() {
        Ok(program) => program.display().to_string(),
        Err(error) => return app.error(format!("pi does not know where it is: {error}")),
    };
    let program = program.replace('\'', r"'\''");
    submit::submit(app, format!("!!'{program}' demo"));
}
