//! Slows down clients that send wrong tokens. Pure but for the clock.
//!
//! A few wrong tokens cost nothing. Each one after that doubles the time for which the peer is
//! refused, up to a limit; requests during that time do not extend it, so a user behind the same
//! address gets in.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::Duration;

use pi_base::lock;
use tokio::time::Instant;

/// Most peers that are remembered.
const PEERS: usize = 4096;

/// The longest time for which a peer is refused.
const LONGEST: Duration = Duration::from_secs(30);

/// The time after which the wrong tokens of a peer are forgotten.
const MEMORY: Duration = Duration::from_secs(15 * 60);

/// Kinds of wrong secrets, which are counted on their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Tokens.
    Token,
    /// Cookies. A page that is still open after its login has ended sends some of them.
    Cookie,
}

impl Kind {
    /// Returns the number of wrong secrets that cost nothing.
    fn free(self) -> u32 {
        match self {
            Self::Token => 5,
            Self::Cookie => 100,
        }
    }
}

/// The wrong tokens of each peer.
#[derive(Debug, Default)]
pub struct Guesses(Mutex<HashMap<(IpAddr, Kind), Wrong>>);

#[derive(Debug, Clone, Copy)]
struct Wrong {
    count: u32,
    last: Instant,
    until: Instant,
}

impl Guesses {
    /// Returns the time that a peer still has to wait, if it has to.
    pub fn wait(&self, peer: IpAddr, kind: Kind) -> Option<Duration> {
        let now = Instant::now();
        let peers = lock(&self.0);
        let left = peers.get(&(network(peer), kind))?.until.checked_duration_since(now)?;
        (!left.is_zero()).then_some(left)
    }

    /// Counts a wrong token.
    pub fn count(&self, peer: IpAddr, kind: Kind) {
        let now = Instant::now();
        let mut peers = lock(&self.0);
        if peers.len() >= PEERS {
            peers.retain(|_, wrong| now.duration_since(wrong.last) < MEMORY);
        }
        let key = (network(peer), kind);
        if peers.len() >= PEERS && !peers.contains_key(&key) {
            // An attacker with that many addresses: the one with the fewest guesses is forgotten.
            let least = peers.iter().min_by_key(|(_, wrong)| (wrong.count, wrong.last));
            let least = least.map(|(key, _)| *key);
            least.map(|key| peers.remove(&key));
        }
        let wrong = peers.entry(key);
        let wrong = wrong.or_insert(Wrong { count: 0, last: now, until: now });
        if now.duration_since(wrong.last) >= MEMORY {
            wrong.count = 0;
        }
        wrong.count = wrong.count.saturating_add(1);
        wrong.last = now;
        if let Some(beyond) = wrong.count.checked_sub(kind.free()) {
            let wait = Duration::from_secs(1_u64.checked_shl(beyond).unwrap_or(u64::MAX));
            wrong.until = now + wait.min(LONGEST);
        }
    }

    /// Forgets the wrong tokens of a peer that has sent a right one.
    pub fn forget(&self, peer: IpAddr, kind: Kind) {
        lock(&self.0).remove(&(network(peer), kind));
    }
}

/// Returns the network that one user has: an address of IPv4, a /64 of IPv6.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[tokio::test(start_paused = true)]
    async fn waits_double_up_to_a_limit() {
        let guesses = Guesses::default();
        for _ in 0..4 {
            guesses.count(PEER, Kind::Token);
            assert_eq!(guesses.wait(PEER, Kind::Token), None);
        }
        for expected in [1, 2, 4, 8, 16, 30, 30] {
            guesses.count(PEER, Kind::Token);
            assert_eq!(guesses.wait(PEER, Kind::Token).unwrap().as_secs(), expected);
        }
        assert_eq!(guesses.wait(PEER, Kind::Cookie), None, "counted on their own");
        assert_eq!(guesses.wait([192, 0, 2, 1].into(), Kind::Token), None);
        tokio::time::advance(LONGEST).await;
        assert_eq!(guesses.wait(PEER, Kind::Token), None);
        tokio::time::advance(MEMORY).await;
        guesses.count(PEER, Kind::Token);
        assert_eq!(guesses.wait(PEER, Kind::Token), None, "forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded_and_networks_count_as_one() {
        let guesses = Guesses::default();
        for number in 0..10_000_u32 {
            guesses.count(IpAddr::V4(number.into()), Kind::Token);
        }
        assert!(lock(&guesses.0).len() <= PEERS);
        for host in 0..5_u16 {
            guesses.count(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host).into(), Kind::Token);
        }
        let other: Ipv6Addr = "2001:db8::ffff".parse().unwrap();
        assert!(guesses.wait(other.into(), Kind::Token).is_some());
        let mapped: Ipv6Addr = "::ffff:192.0.2.7".parse().unwrap();
        assert_eq!(network(mapped.into()), IpAddr::from([192, 0, 2, 7]));
    }
}
