"""claim, where there are limits: a worker that finds too little runs an admission and claims again."""

from __future__ import annotations

from dataclasses import replace

from reelstate.core.model import Claim
from reelstate.services.catalogue import Catalogue
from reelstate.services.claim import ClaimRequest, Claims, claim
from reelstate.services.limits.admission import Admission, admit
from reelstate.stores.store import Store


async def claim_admitted(
    store: Store, catalogue: Catalogue, claims: Claims, request: ClaimRequest
) -> tuple[Claim, Admission]:
    """Claim; where there are limits and too little was found, admit waiting tasks and claim the rest.

    Tasks that are leased already are returned whatever happens then: the next claim raises the error again.
    """
    claimed = await claim(store, catalogue, claims, request)
    if not claimed.limited or claimed.paused or request.hints or len(claimed.tasks) >= request.limit:
        return claimed, Admission()
    try:
        return await _claim_rest(store, catalogue, claims, request, claimed)
    except Exception:
        if claimed.tasks:
            return claimed, Admission()
        raise


async def _claim_rest(
    store: Store, catalogue: Catalogue, claims: Claims, request: ClaimRequest, claimed: Claim
) -> tuple[Claim, Admission]:
    rest = replace(request, limit=request.limit - len(claimed.tasks))
    admission = await admit(store, demand=rest.limit, share=True)
    if admission.shared:
        more = await claim(store, catalogue, claims, rest)
        if claimed.tasks or more.tasks:
            return claimed.with_more(more), admission
        admission = await admit(store, demand=rest.limit)
    if not admission.tasks:
        return claimed, admission
    return claimed.with_more(await claim(store, catalogue, claims, rest)), admission
