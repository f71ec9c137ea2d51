//! IP addresses and networks.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Library;
use crate::cost::traversal;
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Functions, Overload};
use crate::standard::size_of;
use crate::val::{Kind, Opaque, Val};

/// The library of IP addresses and networks.
pub const NETWORK: Library =
    Library { name: "network", functions: add::<true>, macros: Macros::NONE, types: &[IP, CIDR] };

/// The same, where an IPv4 address is never written as IPv6.
pub(super) const STRICT_NETWORK: Library =
    Library { name: "strict network", functions: add::<false>, macros: Macros::NONE, types: &[IP, CIDR] };

const IP: &str = "net.IP";
const CIDR: &str = "net.CIDR";
const IP_KIND: Kind = Kind::Opaque(IP);
const CIDR_KIND: Kind = Kind::Opaque(CIDR);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Address(IpAddr);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

impl Opaque for Address {
    fn type_name(&self) -> &'static str {
        IP
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn size(&self) -> u64 {
        if self.0.is_ipv4() { 4 } else { 16 }
    }

    fn to_text(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

impl Opaque for Network {
    fn type_name(&self) -> &'static str {
        CIDR
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn size(&self) -> u64 {
        u64::from(self.bits).div_ceil(8)
    }

    fn to_text(&self) -> Option<String> {
        Some(format!("{}/{}", self.address, self.bits))
    }
}

impl Network {
    fn masked(self) -> Self {
        Self { address: masked(self.address, self.bits), ..self }
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && masked(address, self.bits) == self.masked().address
    }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    let bits = u32::from(bits);
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

/// Adds a method of an address.
macro_rules! address {
    ($functions:ident: $($name:literal $result:ident $help:literal = $body:expr;)*) => {$(
        $functions.add(
            Overload::method($name, &[IP_KIND], Kind::$result, |arguments, _| {
                let read: fn(IpAddr) -> _ = $body;
                Ok(Val::$result(read(address(arguments)?.0)))
            })
            .help($help),
        );
    )*};
}

fn add<const MAY_MAP: bool>(functions: &mut Functions) {
    parsing::<MAY_MAP>(functions);
    address! { functions:
        "family" Int "4 or 6" = |ip| if ip.is_ipv4() { 4 } else { 6 };
        "isUnspecified" Bool "whether an address is all zeros" = |ip| ip.is_unspecified();
        "isLoopback" Bool "whether an address is the own machine's" = |ip| ip.is_loopback();
        "isGlobalUnicast" Bool "whether an address is a global one of one machine" = is_global_unicast;
        "isLinkLocalUnicast" Bool "whether an address is of one machine on the same link" = is_link_local;
        "isLinkLocalMulticast" Bool "whether an address is of several machines on the same link" = is_link_multicast;
    }
    networks::<MAY_MAP>(functions);
}

fn parsing<const MAY_MAP: bool>(functions: &mut Functions) {
    const TEXT: &[Kind] = &[Kind::String];
    functions.add(
        Overload::function("ip", TEXT, IP_KIND, |arguments, _| {
            Ok(Val::opaque(parse_ip::<MAY_MAP>(text(arguments)?)?))
        })
        .cost(|arguments, _| traversal(size_of(arguments, 0)))
        .help("the IP address that a text is"),
    );
    functions.add(
        Overload::function("cidr", TEXT, CIDR_KIND, |arguments, _| {
            Ok(Val::opaque(parse_cidr::<MAY_MAP>(text(arguments)?)?))
        })
        .cost(|arguments, _| traversal(size_of(arguments, 0)))
        .help("the network that a text is"),
    );
    functions.add(
        Overload::function("isIP", TEXT, Kind::Bool, |arguments, _| {
            Ok(Val::Bool(parse_ip::<MAY_MAP>(text(arguments)?).is_ok()))
        })
        .cost(|arguments, _| traversal(size_of(arguments, 0)))
        .help("whether a text is an IP address"),
    );
    functions.add(
        Overload::function("isCIDR", TEXT, Kind::Bool, |arguments, _| {
            Ok(Val::Bool(parse_cidr::<MAY_MAP>(text(arguments)?).is_ok()))
        })
        .cost(|arguments, _| traversal(size_of(arguments, 0)))
        .help("whether a text is a network"),
    );
    functions.add(
        Overload::function("ip.isCanonical", TEXT, Kind::Bool, |arguments, _| {
            let text = text(arguments)?;
            Ok(Val::Bool(parse_ip::<MAY_MAP>(text)?.0.to_string() == text))
        })
        .cost(|arguments, _| traversal(size_of(arguments, 0).saturating_mul(2)))
        .help("whether an IP address is written in its shortest form"),
    );
}

fn networks<const MAY_MAP: bool>(functions: &mut Functions) {
    const ONE: &[Kind] = &[CIDR_KIND];
    functions.add(
        Overload::method("ip", ONE, IP_KIND, |arguments, _| {
            Ok(Val::opaque(Address(network(arguments.first())?.address)))
        })
        .help("the address of a network"),
    );
    functions.add(
        Overload::method("masked", ONE, CIDR_KIND, |arguments, _| {
            Ok(Val::opaque(network(arguments.first())?.masked()))
        })
        .help("a network with its lowest address"),
    );
    functions.add(
        Overload::method("prefixLength", ONE, Kind::Int, |arguments, _| {
            Ok(Val::Int(i64::from(network(arguments.first())?.bits)))
        })
        .help("how many bits all addresses of a network have in common"),
    );
    functions.add(
        Overload::method("isMask", ONE, Kind::Bool, |arguments, _| {
            let network = network(arguments.first())?;
            Ok(Val::Bool(network == network.masked()))
        })
        .help("whether a network is written with its lowest address"),
    );
    for parameters in [&[CIDR_KIND, IP_KIND], &[CIDR_KIND, Kind::String]] {
        functions.add(
            Overload::method("containsIP", parameters, Kind::Bool, |arguments, _| {
                let other = match arguments.get(1) {
                    Some(Val::String(text)) => parse_ip::<MAY_MAP>(text)?,
                    other => *other.and_then(Val::as_opaque::<Address>).ok_or_else(Failure::mismatch)?,
                };
                Ok(Val::Bool(network(arguments.first())?.contains(other.0)))
            })
            .cost(|arguments, _| {
                traversal(size_of(arguments, 0).saturating_mul(2)).saturating_add(parsed(arguments))
            })
            .help("whether an address is in a network"),
        );
    }
    for parameters in [&[CIDR_KIND, CIDR_KIND], &[CIDR_KIND, Kind::String]] {
        functions.add(
            Overload::method("containsCIDR", parameters, Kind::Bool, |arguments, _| {
                let other = match arguments.get(1) {
                    Some(Val::String(text)) => parse_cidr::<MAY_MAP>(text)?,
                    other => network(other)?,
                };
                let network = network(arguments.first())?;
                Ok(Val::Bool(network.bits <= other.bits && network.contains(other.address)))
            })
            .cost(|arguments, _| {
                let size = size_of(arguments, 0);
                traversal(size.saturating_mul(2)).saturating_add(traversal(size) + 1 + parsed(arguments))
            })
            .help("whether a network is in a network"),
        );
    }
}

/// Returns what reading the second argument costs, if it is a text.
fn parsed(arguments: &[Val<'_>]) -> u64 {
    match arguments.get(1) {
        Some(Val::String(_)) => traversal(size_of(arguments, 1)),
        _ => 0,
    }
}

fn text<'v>(arguments: &'v [Val<'_>]) -> Result<&'v str, Failure> {
    arguments.first().and_then(Val::as_str).ok_or_else(Failure::mismatch)
}

fn address(arguments: &[Val<'_>]) -> Result<Address, Failure> {
    arguments.first().and_then(Val::as_opaque::<Address>).copied().ok_or_else(Failure::mismatch)
}

fn network(value: Option<&Val<'_>>) -> Result<Network, Failure> {
    value.and_then(Val::as_opaque::<Network>).copied().ok_or_else(Failure::mismatch)
}

fn parse_ip<const MAY_MAP: bool>(text: &str) -> Result<Address, Failure> {
    match text.parse() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() && (!MAY_MAP || text.contains('.')) => {
            Err(Failure::value(format!("`{text}` is an IPv4 address written as IPv6, which is not allowed")))
        }
        // Without dots it is allowed, and is the IPv4 address.
        Ok(IpAddr::V6(address)) => Ok(Address(IpAddr::V6(address).to_canonical())),
        Ok(address) => Ok(Address(address)),
        Err(_) => Err(Failure::value(format!("`{text}` is not an IP address"))),
    }
}

fn parse_cidr<const MAY_MAP: bool>(text: &str) -> Result<Network, Failure> {
    let wrong = || Failure::value(format!("`{text}` is not a network such as `10.0.0.0/8`"));
    let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
    let Address(address) = parse_ip::<MAY_MAP>(address)?;
    let is_plain = bits.bytes().all(|c| c.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.parse().ok().filter(|bits| is_plain && *bits <= most).ok_or_else(wrong)?;
    Ok(Network { address, bits })
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

fn is_link_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => matches!(ip.octets(), [224, 0, 0, _]),
        IpAddr::V6(ip) => ip.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    }
}

fn is_global_unicast(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !ip.is_unspecified() && !is_broadcast && !ip.is_loopback() && !ip.is_multicast() && !is_link_local(ip)
}
