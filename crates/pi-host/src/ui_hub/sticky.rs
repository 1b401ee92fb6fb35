//! What extensions show at the moment, for clients that come later. Pure.

use pi_coding_agent::extension::UiUpdate;

/// The updates in force, in the order in which they were made.
#[derive(Default)]
pub(super) struct Sticky(Vec<UiUpdate>);

impl Sticky {
    /// Keeps an update that lasts, in place of the one that it replaces.
    pub(super) fn keep(&mut self, update: &UiUpdate) {
        if *update == UiUpdate::Reset {
            self.0.clear();
        } else if lasts(update) {
            self.0.retain(|kept| !replaces(update, kept));
            self.0.push(update.clone());
        }
    }

    /// Returns the updates in force.
    pub(super) fn updates(&self) -> Vec<UiUpdate> {
        self.0.clone()
    }
}

/// Returns true if an update changes what is shown until another one changes it again.
fn lasts(update: &UiUpdate) -> bool {
    !matches!(
        update,
        UiUpdate::Notify { .. }
            | UiUpdate::SetEditorText { .. }
            | UiUpdate::PasteToEditor { .. }
            | UiUpdate::Reset
    )
}

/// Returns true if an update replaces an earlier one.
fn replaces(update: &UiUpdate, earlier: &UiUpdate) -> bool {
    match (update, earlier) {
        (UiUpdate::SetStatus { key, .. }, UiUpdate::SetStatus { key: other, .. })
        | (UiUpdate::SetWidget { key, .. }, UiUpdate::SetWidget { key: other, .. }) => key == other,
        // Themes are added; everything else is set.
        (UiUpdate::AddThemes { .. }, _) => false,
        _ => std::mem::discriminant(update) == std::mem::discriminant(earlier),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(key: &str, text: Option<&str>) -> UiUpdate {
        UiUpdate::SetStatus { key: key.to_owned(), text: text.map(str::to_owned) }
    }

    fn title(title: &str) -> UiUpdate {
        UiUpdate::SetTitle { title: title.to_owned() }
    }

    #[test]
    fn the_last_update_of_each_kind_and_key_is_in_force() {
        let mut sticky = Sticky::default();
        let notice = UiUpdate::Notify { message: "hi".to_owned(), kind: None };
        for update in [title("a"), status("x", Some("1")), notice, status("y", None), title("b")] {
            sticky.keep(&update);
        }
        sticky.keep(&status("x", Some("2")));
        assert_eq!(sticky.updates(), [status("y", None), title("b"), status("x", Some("2"))]);
        sticky.keep(&UiUpdate::Reset);
        assert_eq!(sticky.updates(), []);
    }
}
