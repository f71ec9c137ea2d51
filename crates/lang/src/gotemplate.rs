//! shim
use kubewright_value::*;
#[derive(Debug,Clone,Default)] pub struct Functions; impl Functions { pub fn rules()->Self{Self} pub fn allow(self,_:&str)->Self{self} }
#[derive(Debug,Clone,Default)] pub struct Inputs { pub now: Option<i128>, pub random_seed: Option<u64> }
#[derive(Debug,Clone,Default)] pub struct Context; impl Context { pub fn new()->Self{Self} pub fn json(self,_:impl Into<Text>,_:impl Into<Value>)->Self{self} pub fn native(self,_:impl Into<Text>,_:impl Into<Value>)->Self{self}}
#[derive(Debug,Clone,Copy,PartialEq)] pub enum ErrorKind {Parse,Execute,Limit}
#[derive(Debug,Clone)] pub struct TemplateError { pub kind: ErrorKind, pub message:String, pub position: Position }
pub struct Template(String);
pub struct RootReads; impl RootReads { pub fn may_read(&self,_:&[&str])->bool{true} }
impl Template { pub fn parse(_:&str,t:&str,_:&Functions)->Result<Self,TemplateError>{Ok(Self(t.into()))} pub fn literal(&self)->Option<&str>{(!self.0.contains("{{")).then_some(self.0.as_str())} pub fn root_reads(&self)->RootReads{RootReads} pub fn render(&self,_:&Context,_:&Inputs,_:&mut Budget)->Result<String,TemplateError>{Ok(self.0.clone())} }
