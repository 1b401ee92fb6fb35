//! `/reload`: reads settings, keys, themes, resources and extensions again.

use pi_coding_agent::session::SessionEvent;

use crate::app::App;
use crate::app::events;
use crate::app::header;
use crate::app::publish;
use crate::app::settings;
use crate::keys;

pub(super) fn run(app: &mut App, _argument: &str) {
    if app.session.is_streaming() || app.session.is_compacting() {
        let key = app.keymap.label("app.interrupt");
        return app.warning(format!("Nothing is reloaded during a run; {key} stops it"));
    }
    app.settings.reload();
    settings::apply(app);
    let (keymap, problems) = keys::load(&app.environment);
    app.keymap = keymap;
    publish::keys(&app.ui, &app.keymap);
    let theme = app.preferences.theme.clone();
    let theme = app.themes.select(&theme);
    let problems: Vec<String> = problems.into_iter().chain(theme.err()).collect();
    let runtime = app.runtime.clone();
    app.tasks.spawn(async move { runtime.reload().await }, move |app, found| {
        let found = found.iter().map(|problem| SessionEvent::from_diagnostic(problem, None));
        app.start.set_problems(found.collect());
        events::session_started(app);
        header::show_problems(app);
        for problem in problems {
            app.warning(problem);
        }
        app.display.redraw();
        app.status("Reloaded settings, keys, themes, resources and extensions");
    });
}
