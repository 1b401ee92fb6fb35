//! The chains of a build without the sources of clouds: one source each, which says so.

use pi_protocol::EnvOverrides;

use super::{Presence, Sought, Source, Surroundings};

const REASON: &str = "is not part of this build (feature `cloud`)";

/// Stands for all sources of a chain.
const SOURCE: Source = Source {
    name: "credentials of the machine (not part of this build)",
    presence: |_| Presence::Absent(REASON.to_owned()),
    seek: |_| Box::pin(std::future::ready(Ok(Sought::Absent(REASON.to_owned())))),
};

macro_rules! chains {
    ($($chain:ident)+) => { $(
        pub(super) mod $chain {
            pub(in crate::cloud) const SOURCES: &[super::Source] = &[super::SOURCE];
            pub(in crate::cloud) const VARIABLES: &[&str] = &[];

            pub(in crate::cloud) fn defaults(_: &super::Surroundings) -> super::EnvOverrides {
                super::EnvOverrides::new()
            }
        }
    )+ };
}

chains! { anthropic aws azure google }
