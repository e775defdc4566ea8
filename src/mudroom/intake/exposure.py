"""Every string that would leave with a document, in exactly the form in which it would (decision 13)."""

from __future__ import annotations

from mudroom.extract import expose_url, make_slug
from mudroom.model import ExposedForm, ExposedText, UntrustedDocument, View

__all__ = ["list_exposed"]

_FORMS = {View.MARKDOWN: ExposedForm.MARKDOWN, View.TEXT: ExposedForm.TEXT}


def list_exposed(document: UntrustedDocument) -> tuple[ExposedText, ...]:
    """The title, slug, URLs and views of a document.

    URLs leave as they are, final first, and are scanned once more percent-decoded, since whoever reads
    them can decode them too.
    """
    content, provenance = document.content, document.provenance
    urls = tuple(dict.fromkeys((provenance.final_url, provenance.requested_url)))
    return (
        ExposedText(form=ExposedForm.TITLE, text=content.title),
        ExposedText(form=ExposedForm.SLUG, text=make_slug(content.title, provenance.final_url)),
        *(ExposedText(form=ExposedForm.URL, text=url) for url in urls),
        *(ExposedText(form=ExposedForm.DECODED_URL, text=expose_url(url)) for url in urls),
        *(ExposedText(form=_FORMS[view], text=text) for view, text in content.views.items()),
    )
