"""claim, where there are limits: a worker that finds too little runs an admission and claims again."""

from __future__ import annotations

from reelstate.core.model import Claim
from reelstate.services.catalogue import Catalogue
from reelstate.services.claim import ClaimRequest, Claims, claim
from reelstate.services.limits.admission import Admission, admit
from reelstate.stores.store import Store


async def claim_admitted(
    store: Store, catalogue: Catalogue, claims: Claims, request: ClaimRequest
) -> tuple[Claim, Admission]:
    """Claim; where there are limits and too little was found, admit waiting tasks and claim the rest."""
    claimed = await claim(store, catalogue, claims, request)
    missing = request.limit - len(claimed.tasks)
    if not claimed.limited or claimed.paused or missing <= 0 or request.hints:
        return claimed, Admission()
    admission = await admit(store, demand=missing, share=True)
    if admission.shared:
        claimed = claimed.with_more(await claim(store, catalogue, claims, request.for_rest(missing)))
        missing = request.limit - len(claimed.tasks)
        if claimed.tasks:
            return claimed, admission
        admission = await admit(store, demand=missing)
    if admission.tasks:
        claimed = claimed.with_more(await claim(store, catalogue, claims, request.for_rest(missing)))
    return claimed, admission
