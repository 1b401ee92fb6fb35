//! Dialogs as numbered questions.

use std::time::Duration;

use pi_agent::BoxFuture;
use pi_coding_agent::extension::{Dialog, DialogAnswer, Ui, UiUpdate};

use super::{Lines, ask, say};

/// A user interface of questions and lines.
pub(super) struct PlainUi {
    lines: Lines,
}

impl PlainUi {
    pub(super) fn new(lines: Lines) -> Self {
        Self { lines }
    }
}

impl Ui for PlainUi {
    fn is_present(&self) -> bool {
        true
    }

    fn dialog(
        &self,
        dialog: Dialog,
        _timeout: Option<Duration>,
    ) -> BoxFuture<'_, Option<DialogAnswer>> {
        Box::pin(answer(&self.lines, dialog))
    }

    fn update(&self, update: UiUpdate) {
        if let UiUpdate::Notify { message, kind } = update {
            say(&format!("{}: {message}", kind.unwrap_or_default().as_str()));
        }
    }
}

async fn answer(lines: &Lines, dialog: Dialog) -> Option<DialogAnswer> {
    say(dialog.title());
    match dialog {
        Dialog::Select { options, .. } => {
            let at = choose(lines, &options).await?;
            options.into_iter().nth(at).map(DialogAnswer::Text)
        }
        Dialog::Confirm { message, .. } => {
            say(&message);
            loop {
                ask("Yes or no: ");
                match lines.next().await?.trim().to_lowercase().as_str() {
                    "y" | "yes" => return Some(DialogAnswer::Confirmed(true)),
                    "n" | "no" => return Some(DialogAnswer::Confirmed(false)),
                    "" => return None,
                    _ => {}
                }
            }
        }
        Dialog::Input { placeholder, .. } => {
            let example = placeholder.map(|text| format!(" ({text})")).unwrap_or_default();
            ask(&format!("Text{example}, or nothing to cancel: "));
            let text = lines.next().await?;
            (!text.trim().is_empty()).then_some(DialogAnswer::Text(text))
        }
        Dialog::Editor { prefill, .. } => {
            if let Some(prefill) = prefill {
                say(&prefill);
            }
            say("Type the new text. A line with a single dot ends it; a dot at once cancels.");
            let mut text: Vec<String> = Vec::new();
            loop {
                match lines.next().await? {
                    line if line == "." => break,
                    line => text.push(line),
                }
            }
            (!text.is_empty()).then(|| DialogAnswer::Text(text.join("\n")))
        }
        _ => None,
    }
}

/// Asks for one of several options. Returns its index, or `None` if the user cancels.
pub(super) async fn choose(lines: &Lines, options: &[String]) -> Option<usize> {
    for (index, option) in options.iter().enumerate() {
        say(&format!("{}. {option}", index + 1));
    }
    loop {
        ask("Number, or nothing to cancel: ");
        let line = lines.next().await?;
        let line = line.trim();
        if line.is_empty() {
            return None;
        }
        match line.parse::<usize>() {
            Ok(number) if (1..=options.len()).contains(&number) => return Some(number - 1),
            _ => say(&format!("Please type a number from 1 to {}.", options.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answered(dialog: Dialog, lines: &[&str]) -> Option<DialogAnswer> {
        answer(&Lines::of(lines), dialog).await
    }

    #[tokio::test]
    async fn questions_take_numbers_words_and_texts() {
        let text = |text: &str| Some(DialogAnswer::Text(text.to_owned()));
        let select = || Dialog::Select {
            title: "Which?".to_owned(),
            options: vec!["one".to_owned(), "two".to_owned()],
        };
        assert_eq!(answered(select(), &["0", "x", "3", "2"]).await, text("two"));
        assert_eq!(answered(select(), &[""]).await, None);
        assert_eq!(answered(select(), &[]).await, None);
        let confirm =
            || Dialog::Confirm { title: "Sure?".to_owned(), message: "really".to_owned() };
        assert_eq!(answered(confirm(), &["hm", "Y"]).await, Some(DialogAnswer::Confirmed(true)));
        assert_eq!(answered(confirm(), &["no"]).await, Some(DialogAnswer::Confirmed(false)));
        let editor = || Dialog::Editor { title: "Text".to_owned(), prefill: None };
        assert_eq!(answered(editor(), &["a", "b", "."]).await, text("a\nb"));
        assert_eq!(answered(editor(), &["."]).await, None);
    }
}
