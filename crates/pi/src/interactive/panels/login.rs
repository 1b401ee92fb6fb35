//! The login: the way to sign in, the provider, its key. Cancelling goes back one step.

#[cfg(test)]
mod tests;

use pi_tui::input::{Input, Keymap};
use pi_tui::list::Item;
use pi_tui::{InputLine, Line, LineCache, Lines, View};

use super::super::panel::{Panel, PanelEvent};
use super::entry::Entry;
pub(in crate::interactive) use super::providers::Provider;
use super::providers::ProviderList;
use super::question::{Answer, Question};

/// The key of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::interactive) struct Login {
    pub(in crate::interactive) provider: Provider,
    pub(in crate::interactive) key: String,
}

/// The login.
pub(in crate::interactive) struct LoginPanel {
    steps: Vec<Step>,
    providers: Vec<Provider>,
    /// Returns what is wrong with a key.
    check: fn(&str) -> Option<&'static str>,
    cache: LineCache,
}

enum Step {
    Method(Question<Method>),
    Provider(Box<ProviderList>),
    Key { provider: Provider, entry: Box<Entry> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Account,
    Key,
}

const TITLE: &str = "Select authentication method:";

const NO_ACCOUNTS: &str = "\nThis version cannot sign in with an account. What works instead: an API \
    key of the provider, or a login that another pi stored in auth.json until it expires.";

impl LoginPanel {
    /// Starts with the way to sign in, or with the key of a provider.
    pub(in crate::interactive) fn new(
        providers: Vec<Provider>,
        provider: Option<Provider>,
        check: fn(&str) -> Option<&'static str>,
        keymap: &Keymap,
    ) -> Self {
        let first = match provider {
            Some(provider) => key_step(provider, None, keymap),
            None => method_step("", keymap),
        };
        Self { steps: vec![first], providers, check, cache: LineCache::default() }
    }

    /// Goes back; the first step closes the panel.
    fn back(&mut self) -> PanelEvent<Login> {
        self.steps.pop();
        match self.steps.is_empty() {
            true => PanelEvent::Close(None),
            false => PanelEvent::Changed,
        }
    }

    fn replace(&mut self, step: Step) -> PanelEvent<Login> {
        self.steps.pop();
        self.next(step)
    }

    fn next(&mut self, step: Step) -> PanelEvent<Login> {
        self.steps.push(step);
        PanelEvent::Changed
    }
}

fn method_step(message: &str, keymap: &Keymap) -> Step {
    let account = "Sign in with an account • not in this version";
    let items = vec![
        Item::new(Method::Key, "Sign in with an API key"),
        Item::new(Method::Account, account),
    ];
    Step::Method(Question::new(TITLE, message, items, keymap))
}

fn key_step(provider: Provider, problem: Option<&str>, keymap: &Keymap) -> Step {
    let title = format!("Login to {}", provider.name);
    let message = match problem {
        None => format!("\nEnter {} API key", provider.name),
        Some(problem) => format!("\nThis is no key: it {problem}. Enter {} API key", provider.name),
    };
    let entry = Entry::new(&title, InputLine::masked(), keymap).message(&message);
    Step::Key { provider, entry: Box::new(entry) }
}

impl Panel<Login> for LoginPanel {
    fn render(&mut self, view: View<'_>) -> Lines {
        let step = self.steps.last_mut();
        self.cache.get(view, || match step {
            Some(Step::Method(question)) => question.lines(view, None),
            Some(Step::Provider(list)) => list.lines(view),
            Some(Step::Key { entry, .. }) => entry.lines(view, None),
            None => vec![Line::new()],
        })
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Login> {
        self.cache.clear();
        let answer = match self.steps.last_mut() {
            Some(Step::Method(question)) => match question.handle(input, keymap) {
                Answer::Chosen(Method::Key) => {
                    let title = "Select provider to configure:";
                    let list = ProviderList::new(title, self.providers.clone(), keymap);
                    return self.next(Step::Provider(Box::new(list)));
                }
                Answer::Chosen(Method::Account) => {
                    return self.replace(method_step(NO_ACCOUNTS, keymap));
                }
                other => other.map(|_| ()),
            },
            Some(Step::Provider(list)) => match list.handle(input, keymap) {
                Answer::Chosen(provider) => return self.next(key_step(provider, None, keymap)),
                other => other.map(|_| ()),
            },
            Some(Step::Key { provider, entry }) => match entry.handle(input, keymap) {
                Answer::Chosen(key) => {
                    let (provider, key) = (provider.clone(), key.trim().to_owned());
                    return match (self.check)(&key) {
                        None => PanelEvent::Close(Some(Login { provider, key })),
                        problem => self.replace(key_step(provider, problem, keymap)),
                    };
                }
                other => other.map(|_| ()),
            },
            None => Answer::Cancelled,
        };
        match answer {
            Answer::Ignored => PanelEvent::Ignored,
            Answer::Changed | Answer::Chosen(()) => PanelEvent::Changed,
            Answer::Cancelled => self.back(),
        }
    }
}
