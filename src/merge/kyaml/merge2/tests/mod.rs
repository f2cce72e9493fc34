mod lists;
mod maps;
