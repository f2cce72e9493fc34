mod exceptions;
mod lists;
mod maps;
