//! IP addresses and networks.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::CelLibrary;
use crate::cost::traversal_cost;
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelFunctions, CelOverload};
use crate::standard::size_of;
use crate::val::{CelKind, Opaque, Val};

/// The library of IP addresses and networks.
pub const NETWORK: CelLibrary = CelLibrary {
    name: "network",
    functions: add_network_functions::<true>,
    macros: MacroSet::NONE,
    types: &[IP_TYPE_NAME, CIDR_TYPE_NAME],
};

/// The same library, but every IPv4-mapped IPv6 address is an error.
pub(super) const STRICT_NETWORK: CelLibrary = CelLibrary {
    name: "strict network",
    functions: add_network_functions::<false>,
    macros: MacroSet::NONE,
    types: &[IP_TYPE_NAME, CIDR_TYPE_NAME],
};

const IP_TYPE_NAME: &str = "net.IP";
const CIDR_TYPE_NAME: &str = "net.CIDR";
const IP_KIND: CelKind = CelKind::Opaque(IP_TYPE_NAME);
const CIDR_KIND: CelKind = CelKind::Opaque(CIDR_TYPE_NAME);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IpVal(IpAddr);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CidrVal {
    address: IpAddr,
    bits: u8,
}

impl Opaque for IpVal {
    fn type_name(&self) -> &'static str {
        IP_TYPE_NAME
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

impl Opaque for CidrVal {
    fn type_name(&self) -> &'static str {
        CIDR_TYPE_NAME
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

impl CidrVal {
    fn masked(self) -> Self {
        Self { address: mask_address(self.address, self.bits), ..self }
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && mask_address(address, self.bits) == self.masked().address
    }
}

fn mask_address(address: IpAddr, bits: u8) -> IpAddr {
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
macro_rules! ip_methods {
    ($functions:ident: $($name:literal $result:ident $help:literal = $body:expr;)*) => {$(
        $functions.add(
            CelOverload::method($name, &[IP_KIND], CelKind::$result, |arguments, _| {
                let read: fn(IpAddr) -> _ = $body;
                Ok(Val::$result(read(ip_argument(arguments)?.0)))
            })
            .help($help),
        );
    )*};
}

fn add_network_functions<const MAY_MAP: bool>(functions: &mut CelFunctions) {
    add_network_parsers::<MAY_MAP>(functions);
    ip_methods! { functions:
        "family" Int "4 or 6" = |ip| if ip.is_ipv4() { 4 } else { 6 };
        "isUnspecified" Bool "whether an address is all zeros" = |ip| ip.is_unspecified();
        "isLoopback" Bool "whether an address is the own machine's" = |ip| ip.is_loopback();
        "isGlobalUnicast" Bool "whether an address is a global one of one machine" = is_global_unicast;
        "isLinkLocalUnicast" Bool "whether an address is of one machine on the same link" = is_link_local;
        "isLinkLocalMulticast" Bool "whether an address is of several machines on the same link" = is_link_multicast;
    }
    add_cidr_functions::<MAY_MAP>(functions);
}

fn add_network_parsers<const MAY_MAP: bool>(functions: &mut CelFunctions) {
    const TEXT: &[CelKind] = &[CelKind::String];
    functions.add(
        CelOverload::function("ip", TEXT, IP_KIND, |arguments, _| {
            Ok(Val::opaque(parse_ip::<MAY_MAP>(first_text_argument(arguments)?)?))
        })
        .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
        .help("the IP address that a text is"),
    );
    functions.add(
        CelOverload::function("cidr", TEXT, CIDR_KIND, |arguments, _| {
            Ok(Val::opaque(parse_cidr::<MAY_MAP>(first_text_argument(arguments)?)?))
        })
        .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
        .help("the network that a text is"),
    );
    functions.add(
        CelOverload::function("isIP", TEXT, CelKind::Bool, |arguments, _| {
            Ok(Val::Bool(parse_ip::<MAY_MAP>(first_text_argument(arguments)?).is_ok()))
        })
        .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
        .help("whether a text is an IP address"),
    );
    functions.add(
        CelOverload::function("isCIDR", TEXT, CelKind::Bool, |arguments, _| {
            Ok(Val::Bool(parse_cidr::<MAY_MAP>(first_text_argument(arguments)?).is_ok()))
        })
        .cost(|arguments, _| traversal_cost(size_of(arguments, 0)))
        .help("whether a text is a network"),
    );
    functions.add(
        CelOverload::function("ip.isCanonical", TEXT, CelKind::Bool, |arguments, _| {
            let text = first_text_argument(arguments)?;
            Ok(Val::Bool(parse_ip::<MAY_MAP>(text)?.0.to_string() == text))
        })
        .cost(|arguments, _| traversal_cost(size_of(arguments, 0).saturating_mul(2)))
        .help("whether an IP address is written in its shortest form"),
    );
}

fn add_cidr_functions<const MAY_MAP: bool>(functions: &mut CelFunctions) {
    const ONE: &[CelKind] = &[CIDR_KIND];
    functions.add(
        CelOverload::method("ip", ONE, IP_KIND, |arguments, _| {
            Ok(Val::opaque(IpVal(cidr_argument(arguments.first())?.address)))
        })
        .help("the address of a network"),
    );
    functions.add(
        CelOverload::method("masked", ONE, CIDR_KIND, |arguments, _| {
            Ok(Val::opaque(cidr_argument(arguments.first())?.masked()))
        })
        .help("a network with its lowest address"),
    );
    functions.add(
        CelOverload::method("prefixLength", ONE, CelKind::Int, |arguments, _| {
            Ok(Val::Int(i64::from(cidr_argument(arguments.first())?.bits)))
        })
        .help("how many bits all addresses of a network have in common"),
    );
    functions.add(
        CelOverload::method("isMask", ONE, CelKind::Bool, |arguments, _| {
            let network = cidr_argument(arguments.first())?;
            Ok(Val::Bool(network == network.masked()))
        })
        .help("whether a network is written with its lowest address"),
    );
    for parameters in [&[CIDR_KIND, IP_KIND], &[CIDR_KIND, CelKind::String]] {
        functions.add(
            CelOverload::method("containsIP", parameters, CelKind::Bool, |arguments, _| {
                let other = match arguments.get(1) {
                    Some(Val::String(text)) => parse_ip::<MAY_MAP>(text)?,
                    other => *other.and_then(Val::as_opaque::<IpVal>).ok_or_else(CelFailure::mismatch)?,
                };
                Ok(Val::Bool(cidr_argument(arguments.first())?.contains(other.0)))
            })
            .cost(|arguments, _| {
                traversal_cost(size_of(arguments, 0).saturating_mul(2))
                    .saturating_add(network_argument_cost(arguments))
            })
            .help("whether an address is in a network"),
        );
    }
    for parameters in [&[CIDR_KIND, CIDR_KIND], &[CIDR_KIND, CelKind::String]] {
        functions.add(
            CelOverload::method("containsCIDR", parameters, CelKind::Bool, |arguments, _| {
                let other = match arguments.get(1) {
                    Some(Val::String(text)) => parse_cidr::<MAY_MAP>(text)?,
                    other => cidr_argument(other)?,
                };
                let network = cidr_argument(arguments.first())?;
                Ok(Val::Bool(network.bits <= other.bits && network.contains(other.address)))
            })
            .cost(|arguments, _| {
                let size = size_of(arguments, 0);
                traversal_cost(size.saturating_mul(2))
                    .saturating_add(traversal_cost(size) + 1 + network_argument_cost(arguments))
            })
            .help("whether a network is in a network"),
        );
    }
}

/// Returns the cost of parsing the second argument, if it is a string.
fn network_argument_cost(arguments: &[Val<'_>]) -> u64 {
    match arguments.get(1) {
        Some(Val::String(_)) => traversal_cost(size_of(arguments, 1)),
        _ => 0,
    }
}

fn first_text_argument<'v>(arguments: &'v [Val<'_>]) -> Result<&'v str, CelFailure> {
    arguments.first().and_then(Val::as_str).ok_or_else(CelFailure::mismatch)
}

fn ip_argument(arguments: &[Val<'_>]) -> Result<IpVal, CelFailure> {
    arguments.first().and_then(Val::as_opaque::<IpVal>).copied().ok_or_else(CelFailure::mismatch)
}

fn cidr_argument(value: Option<&Val<'_>>) -> Result<CidrVal, CelFailure> {
    value.and_then(Val::as_opaque::<CidrVal>).copied().ok_or_else(CelFailure::mismatch)
}

fn parse_ip<const MAY_MAP: bool>(text: &str) -> Result<IpVal, CelFailure> {
    match text.parse() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() && (!MAY_MAP || text.contains('.')) => {
            Err(CelFailure::value(format!(
                "`{text}` is an IPv4 address written as IPv6, which is not allowed"
            )))
        }
        // An IPv4-mapped address without dots is allowed, and is the IPv4 address.
        Ok(IpAddr::V6(address)) => Ok(IpVal(IpAddr::V6(address).to_canonical())),
        Ok(address) => Ok(IpVal(address)),
        Err(_) => Err(CelFailure::value(format!("`{text}` is not an IP address"))),
    }
}

fn parse_cidr<const MAY_MAP: bool>(text: &str) -> Result<CidrVal, CelFailure> {
    let wrong = || CelFailure::value(format!("`{text}` is not a network such as `10.0.0.0/8`"));
    let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
    let IpVal(address) = parse_ip::<MAY_MAP>(address)?;
    let is_plain = bits.bytes().all(|c| c.is_ascii_digit()) && (bits.len() == 1 || !bits.starts_with('0'));
    let most = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.parse().ok().filter(|bits| is_plain && *bits <= most).ok_or_else(wrong)?;
    Ok(CidrVal { address, bits })
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
