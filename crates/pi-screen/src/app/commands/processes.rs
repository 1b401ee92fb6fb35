//! `/processes`: the background processes of the session.

use std::sync::Arc;

use pi_base::text::line;
use pi_tools::{BackgroundId, BackgroundProcesses};

use crate::app::App;
use crate::panels::processes::{Answer, ProcessList};
use crate::report::{Item, Report};

pub(super) fn run(app: &mut App, _argument: &str) {
    let Some(processes) = app.session.workspace().background().cloned() else {
        return app.status("The tools of this session start no background processes");
    };
    if processes.list().is_empty() {
        return app.status("No background processes");
    }
    let panel = ProcessList::new(Arc::clone(&processes), &app.keymap);
    app.panels.open_then(panel, move |app, answer| match answer {
        Answer::Show(id) => show(app, &processes, id),
        Answer::Stop(id) => stop(app, Arc::clone(&processes), id),
    });
}

/// Shows the end of the output of a process in the transcript.
fn show(app: &mut App, processes: &BackgroundProcesses, id: BackgroundId) {
    let Some((info, output)) = processes.info(id).zip(processes.output(id)) else { return };
    let title = format!("Process {id}: {}", line(&info.command, usize::MAX));
    let mut items = vec![Item::Heading(title), Item::Note(info.state.describe()), Item::Gap];
    if output.content.trim().is_empty() {
        items.push(Item::Note("(no output)".to_owned()));
    }
    let lines = output.content.trim_end().lines();
    items.extend(lines.map(|row| Item::Note(pi_tui::text::plain(row))));
    app.transcript.push(Box::new(Report::new(items)));
}

fn stop(app: &mut App, processes: Arc<BackgroundProcesses>, id: BackgroundId) {
    let work = async move { (processes.stop(id).await, processes.info(id)) };
    app.tasks.spawn(work, move |app, (known, info)| {
        if let (true, Some(info)) = (known, info) {
            app.status(format!("Process {id} {}", info.state.describe()));
        }
    });
}
