//! The login: the way to sign in, the provider, its key. Cancelling goes back one step.
//!
//! An account, and a key that needs more than itself, are asked for by a [`flow`].

pub(crate) mod flow;
#[cfg(test)]
mod tests;

use pi_tui::input::{Input, Keymap};
use pi_tui::list::Item;
use pi_tui::{Line, View};

use super::super::panel::{Panel, PanelEvent};
use super::entry::Entry;
use super::providers::ProviderList;
pub(crate) use super::providers::{Provider, Ways};
use super::question::Question;

/// The choice of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Login {
    /// The key of a provider.
    Key { provider: Provider, key: String },
    /// A key that needs more than itself.
    Form(Provider),
    /// An account or a subscription.
    Account(Provider),
}

/// The login.
pub(crate) struct LoginPanel {
    steps: Vec<Step>,
    providers: Vec<Provider>,
    /// Returns what is wrong with a key.
    check: fn(&str) -> Option<&'static str>,
}

enum Step {
    /// The way to sign in, of one provider if it is known already.
    Method {
        question: Box<Question<Method>>,
        provider: Option<Provider>,
    },
    Provider {
        method: Method,
        list: Box<ProviderList>,
    },
    Key {
        provider: Provider,
        entry: Box<Entry>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Account,
    Key,
}

const TITLE: &str = "Select authentication method:";

impl LoginPanel {
    /// Starts with the way to sign in, or with the key of a provider that has no account.
    pub(crate) fn new(
        providers: Vec<Provider>,
        provider: Option<Provider>,
        check: fn(&str) -> Option<&'static str>,
        keymap: &Keymap,
    ) -> Self {
        let first = match provider {
            Some(provider) if !provider.ways.account => key_step(provider, None, keymap),
            provider => method_step(provider, keymap),
        };
        Self { steps: vec![first], providers, check }
    }

    /// Goes back; the first step closes the panel.
    fn back(&mut self) -> PanelEvent<Login> {
        self.steps.pop();
        match self.steps.is_empty() {
            true => PanelEvent::Close(None),
            false => PanelEvent::Changed,
        }
    }

    /// Takes the choice of a way, and of a provider if there is one.
    fn choose(
        &mut self,
        method: Method,
        provider: Option<Provider>,
        keymap: &Keymap,
    ) -> PanelEvent<Login> {
        match (method, provider) {
            (Method::Account, Some(provider)) => PanelEvent::Close(Some(Login::Account(provider))),
            (Method::Key, Some(provider)) if provider.ways.form => {
                PanelEvent::Close(Some(Login::Form(provider)))
            }
            (Method::Key, Some(provider)) => self.next(key_step(provider, None, keymap)),
            (method, None) => {
                let title = match method {
                    Method::Account => "Select provider to sign in to:",
                    Method::Key => "Select provider to configure:",
                };
                let has_way = |provider: &&Provider| match method {
                    Method::Account => provider.ways.account,
                    Method::Key => provider.ways.key,
                };
                let providers = self.providers.iter().filter(has_way).cloned().collect();
                let marks_closed = method == Method::Account;
                let list = Box::new(ProviderList::new(title, providers, marks_closed, keymap));
                self.next(Step::Provider { method, list })
            }
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

fn method_step(provider: Option<Provider>, keymap: &Keymap) -> Step {
    let title = match &provider {
        Some(provider) => format!("Login to {}", provider.name),
        None => TITLE.to_owned(),
    };
    let items = vec![
        Item::new(Method::Account, "Sign in with an account"),
        Item::new(Method::Key, "Sign in with an API key"),
    ];
    let question = Box::new(Question::new(&title, "", items, keymap));
    Step::Method { question, provider }
}

fn key_step(provider: Provider, problem: Option<&str>, keymap: &Keymap) -> Step {
    let title = format!("Login to {}", provider.name);
    let message = match problem {
        None => format!("\nEnter {} API key", provider.name),
        Some(problem) => format!("\nThis is no key: it {problem}. Enter {} API key", provider.name),
    };
    let entry = Entry::new(&title, keymap).masked().message(&message);
    Step::Key { provider, entry: Box::new(entry) }
}

impl Panel<Login> for LoginPanel {
    fn render(&mut self, view: View<'_>) -> Vec<Line> {
        match self.steps.last_mut() {
            Some(Step::Method { question, .. }) => question.lines(view, None),
            Some(Step::Provider { list, .. }) => list.render(view),
            Some(Step::Key { entry, .. }) => entry.lines(view, None),
            None => vec![Line::new()],
        }
    }

    fn handle(&mut self, input: &Input, keymap: &Keymap) -> PanelEvent<Login> {
        let event = match self.steps.last_mut() {
            Some(Step::Method { question, provider }) => match question.handle(input, keymap) {
                PanelEvent::Close(Some(method)) => {
                    let provider = provider.clone();
                    return self.choose(method, provider, keymap);
                }
                other => other.map(drop),
            },
            Some(Step::Provider { method, list }) => match list.handle(input, keymap) {
                PanelEvent::Close(Some(provider)) => {
                    let method = *method;
                    return self.choose(method, Some(provider), keymap);
                }
                other => other.map(drop),
            },
            Some(Step::Key { provider, entry }) => match entry.handle(input, keymap) {
                PanelEvent::Close(Some(key)) => {
                    let (provider, key) = (provider.clone(), key.trim().to_owned());
                    return match (self.check)(&key) {
                        None => PanelEvent::Close(Some(Login::Key { provider, key })),
                        problem => self.replace(key_step(provider, problem, keymap)),
                    };
                }
                other => other.map(drop),
            },
            None => PanelEvent::Close(None),
        };
        match event {
            PanelEvent::Ignored => PanelEvent::Ignored,
            PanelEvent::Close(_) => self.back(),
            _ => PanelEvent::Changed,
        }
    }
}
