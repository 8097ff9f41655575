"""The ground floor: rational arithmetic, laws, toy models, random programs and their enumerators."""
