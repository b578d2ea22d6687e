"""Text as numbers: columns, views of words, templates, vocabularies, hashing; once, for all models.

What sentences are:

    sentences        any form in which users have them: `listed`, `where`, `read_tokens`, ...
    words            `read_words(sentences, columns) -> Words`: columns, named features, or a matrix
    columns          `Column`: a value for each word, each distinct one once
    tree_words       the columns that parsers look at; `markers` makes one of them from others

What features see of words, and how it is written:

    views            `find_view("lower.suffix3")`: the one table of meanings
    fields           `Field`: column, offset and view, as in FORM[-1].lower; `Template`, `RoleField`
    templates        those of taggers (`crfpp`: those of CRF++); `arc_templates`, `label_templates`
    conditions       `FORM.suffix3=ing`: which words constraints and rules are about

From there to numbers:

    word_features    `WordFeatures`: attributes of words, of any kind; `Encoded` sentences
    learning         `learn_features(words, templates, min_count)`, and their model files
    extraction       `TemplateFeatures`; beside it `named_features` and `real_features` (matrices)
    known_values     `KnownValues`: what was seen often enough; the rest is rare, and alike
    word_vocabulary  `WordVocabulary`: the words of a side of a bitext; `Numbered` sentences
    word_symbols     `WordSymbols`: frequent words, and classes of rare ones
    vocabulary       `Vocabulary`, `VocabularyBuilder`, `HashedVocabulary`: names to numbers
    attributes       `Attributes`: sparse rows of numbers, what feature maps take
    hashing          the one hash of features: text and numbers to places in a table
    likeness         how alike two words are spelt
    neighbour_classes  classes of words that stand beside the same words
    word_columns     `WordColumn`: classes of words and tags seen, as columns
"""
