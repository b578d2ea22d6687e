"""Text as numbers: columns, views of words, templates, vocabularies, hashing; once, for all models.

sentences      any form in which users have sentences: `listed`, `where`, `read_tokens`
words          `read_words(sentences, columns) -> Words`: columns, named features, or a matrix
columns        `Column`: a value for each word, each distinct one once
tree_words     the columns that parsers look at; `markers` makes one of them from others
views          what is seen of a value: `find_view("lower.suffix3")`; the one table of meanings
fields         `Field`: column, offset and view, as in FORM[-1].lower; `Template`, `RoleField`
templates      taggers' templates (`crfpp`: those of CRF++); `arc_templates`, `label_templates`
conditions     `FORM.suffix3=ing`: which words constraints and rules are about
extraction     `TemplateFeatures`: what templates see, numbered; `Encoded` sentences
named_features `NamedFeatures`: the same for dictionaries and lists of features
known_values   what was seen often enough in training; rare values are alike
vocabulary     `Vocabulary`, `VocabularyBuilder`, `HashedVocabulary`: names to numbers
attributes     `Attributes`: sparse rows of numbers, what all feature maps take
hashing        the one hash of features: text and numbers to places in a table
"""
