//! Resources that the model has read, and which of them have changed since.
//!
//! The model is told of a change once, in the next result of the server. Lists mark the resource
//! until it is read again.

use std::collections::BTreeMap;
use std::sync::Mutex;

use pi_base::lock;

/// The most resources of a server that are watched.
const MOST: usize = 100;

/// The resources of one server that the model has read, by URI.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<BTreeMap<String, Resource>>);

#[derive(Debug, Default)]
struct Resource {
    /// The present connection announces changes.
    is_subscribed: bool,
    has_changed: bool,
    /// The model was told of the change.
    is_announced: bool,
}

impl Watched {
    /// Takes note that the model reads a resource. Returns true if it is to be subscribed to.
    pub(crate) fn read(&self, uri: &str) -> bool {
        let mut all = lock(&self.0);
        if all.len() >= MOST && !all.contains_key(uri) {
            return false;
        }
        let resource = all.entry(uri.to_owned()).or_default();
        resource.has_changed = false;
        resource.is_announced = false;
        !std::mem::replace(&mut resource.is_subscribed, true)
    }

    /// Takes note of a new connection, which has no subscriptions.
    pub(crate) fn reconnected(&self) {
        lock(&self.0).values_mut().for_each(|resource| resource.is_subscribed = false);
    }

    /// Takes note of a change. Resources that the model has not read are not its concern.
    pub(crate) fn changed(&self, uri: &str) {
        if let Some(resource) = lock(&self.0).get_mut(uri) {
            resource.has_changed = true;
            resource.is_announced = false;
        }
    }

    /// Returns true if a resource has changed since it was read.
    pub(crate) fn has_changed(&self, uri: &str) -> bool {
        lock(&self.0).get(uri).is_some_and(|resource| resource.has_changed)
    }

    /// Returns the changed resources of which the model was not told, once.
    pub(crate) fn take_news(&self) -> Vec<String> {
        let mut all = lock(&self.0);
        let news = all.iter_mut().filter(|(_, one)| one.has_changed && !one.is_announced);
        news.map(|(uri, one)| {
            one.is_announced = true;
            uri.clone()
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_news_once_and_marks_the_resource_until_it_is_read() {
        let watched = Watched::default();
        watched.changed("x://other");
        assert!(watched.read("x://a"));
        assert!(!watched.read("x://a"));
        assert_eq!(watched.take_news(), Vec::<String>::new());
        watched.changed("x://a");
        assert_eq!(watched.take_news(), ["x://a"]);
        assert_eq!(watched.take_news(), Vec::<String>::new());
        assert!(watched.has_changed("x://a") && !watched.has_changed("x://other"));
        watched.reconnected();
        assert!(watched.read("x://a"));
        assert!(!watched.has_changed("x://a"));
        for number in 0..200 {
            watched.read(&format!("x://{number}"));
        }
        assert_eq!(lock(&watched.0).len(), MOST);
    }
}
