import * as v from 'valibot';
import { RunletError } from '../../core/base/errors.ts';

/** The places of Cloudflare: https://developers.cloudflare.com/durable-objects/reference/data-location */
export const jurisdiction = v.picklist(['eu', 'us', 'fedramp', 'fedramp-high']);
export const locationHint = v.picklist(['wnam', 'enam', 'sam', 'weur', 'eeur', 'apac', 'oc', 'afr', 'me']);

/** Where the objects of a Worker live (docs/data.md). */
export interface Placement {
	/** Where data is stored and processed. It is a part of the objects' ids, so it never changes. */
	readonly jurisdiction?: v.InferOutput<typeof jurisdiction>;
	/** Where a new object begins. */
	readonly locationHint?: v.InferOutput<typeof locationHint>;
}

/** Returns where objects live. The runtime of a laptop has no jurisdictions, so the variables do nothing there. */
export function toPlacement(
	{ JURISDICTION: jurisdiction, LOCATION_HINT: locationHint }: PlacementVariables,
	local: unknown,
): Placement {
	return local === undefined ? { jurisdiction, locationHint } : {};
}

interface PlacementVariables {
	readonly JURISDICTION?: Placement['jurisdiction'];
	readonly LOCATION_HINT?: Placement['locationHint'];
}

interface Namespace {
	get(id: DurableObjectId, options?: { readonly locationHint?: DurableObjectLocationHint }): unknown;
}

/** Returns a namespace whose objects live in the given place. Throws `not_configured` if the runtime cannot do that. */
export function placeObjects<N extends Namespace>(namespace: N, { jurisdiction, locationHint }: Placement): N {
	const placed = jurisdiction === undefined ? namespace : findWithin(namespace, jurisdiction);
	if (locationHint === undefined) return placed;
	return new Proxy(placed, {
		get: (target, name) => {
			if (name === 'get') return (id: DurableObjectId) => target.get(id, { locationHint });
			const own: unknown = Reflect.get(target, name);
			return typeof own === 'function' ? own.bind(target) : own;
		},
	});
}

function findWithin<N extends Namespace>(namespace: N, jurisdiction: string): N {
	const find: unknown = Reflect.get(namespace, 'jurisdiction');
	if (typeof find === 'function') return find.call(namespace, jurisdiction);
	throw new RunletError('not_configured', 'JURISDICTION: this runtime has none. Leave it out.');
}
