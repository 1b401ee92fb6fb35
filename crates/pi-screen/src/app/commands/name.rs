//! `/name [name]`: names the session, or shows its name.

use crate::app::App;

pub(super) fn run(app: &mut App, name: &str) {
    if name.is_empty() {
        return match app.session.name() {
            Some(name) => app.status(format!("Session name: {name}")),
            None => app.status("The session has no name; set one with /name NAME"),
        };
    }
    let (session, name) = (app.session.clone(), name.to_owned());
    app.tasks.spawn(async move { session.set_name(&name).await.map(|()| name) }, |app, result| {
        match result {
            Ok(name) => {
                app.status(format!("Session name set: {name}"));
                app.footer.refresh(&app.session);
            }
            Err(error) => app.error(error.to_string()),
        }
    });
}
