import * as v from 'valibot';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import type { SessionNamespace } from '../objects/session-api.ts';

const createPicklist = <const T extends readonly string[]>(places: T) =>
	v.picklist(places, `must be one of ${places.join(', ')}`);

/** The places of Cloudflare: https://developers.cloudflare.com/durable-objects/reference/data-location */
export const jurisdiction = createPicklist(['eu', 'us', 'fedramp', 'fedramp-high']);
export const locationHint = createPicklist(['wnam', 'enam', 'sam', 'weur', 'eeur', 'apac', 'oc', 'afr', 'me']);
export const placement = v.strictObject(
	{ jurisdiction: v.optional(jurisdiction), locationHint: v.optional(locationHint) },
	'must be a place, such as {"jurisdiction":"eu","locationHint":"weur"}',
);

/** Where objects live (docs/data.md, "Where"). */
export interface Placement {
	/** Where data is stored and processed. It is a part of the objects' ids, so it never changes. */
	readonly jurisdiction?: v.InferOutput<typeof jurisdiction>;
	/** Where a new object begins. */
	readonly locationHint?: v.InferOutput<typeof locationHint>;
}

export interface PlacedAgent {
	readonly name: string;
	readonly placement?: Placement;
}

interface PlacesOptions {
	/** The place of all objects for which no owner and no agent names another place. */
	readonly worker?: Placement;
	readonly owners?: ReadonlyMap<string, Placement>;
	readonly agents?: readonly PlacedAgent[];
}

/** Whose session it is, and the name of its agent. */
interface Whose {
	readonly owner: string;
	readonly agent: string;
}

interface SessionRef extends Whose {
	readonly id: string;
}

/** Where the objects of owners and of their sessions live. */
export interface Places {
	/** Whether agents have places of their own. */
	readonly hasAgentPlaces: boolean;
	/** Returns the place of an owner's objects: the owner's own goes before the Worker's. */
	readonly findOwnerPlace: (owner: string) => Placement;
	/** Returns the owners of `OWNER_PLACES` whose jurisdiction differs from the jurisdiction of another owner. */
	readonly listOwnersElsewhere: (than: string) => readonly string[];
	/**
	 * Returns the place of a session: the agent's own goes before the owner's. Throws `invalid_request` if the two name
	 * two jurisdictions.
	 */
	readonly findSessionPlace: (whose: Whose) => Placement;
}

export function createPlaces({ worker = {}, owners = new Map(), agents = [] }: PlacesOptions): Places {
	const findOwnerPlace: Places['findOwnerPlace'] = (owner) => join(worker, owners.get(owner));
	return {
		hasAgentPlaces: agents.some((agent) => agent.placement),
		findOwnerPlace,
		listOwnersElsewhere: (than) => {
			const { jurisdiction } = findOwnerPlace(than);
			return [...owners.keys()].filter((owner) => findOwnerPlace(owner).jurisdiction !== jurisdiction);
		},
		findSessionPlace: ({ owner, agent }) => {
			const { placement } = agents.find(({ name }) => name === agent) ?? {};
			const [its, theirs] = [placement?.jurisdiction, owners.get(owner)?.jurisdiction];
			if (its === undefined || theirs === undefined || its === theirs) return join(findOwnerPlace(owner), placement);
			const message = `${agent} keeps its sessions in ${its}, and OWNER_PLACES those of ${owner} in ${theirs}. Choose another agent.`;
			throw createFieldError('invalid_request', 'agent', message);
		},
	};
}

/** A place in another jurisdiction does not take over the hint of the place under it. */
function join(under: Placement, over: Placement = {}): Placement {
	const isElsewhere = over.jurisdiction !== undefined && over.jurisdiction !== under.jurisdiction;
	return isElsewhere ? over : { ...under, ...over };
}

interface Namespace<T> {
	get(id: DurableObjectId, options?: { readonly locationHint?: DurableObjectLocationHint }): T;
}

export interface NamedObjects<T> extends Namespace<T> {
	idFromName(name: string): DurableObjectId;
}

/** Returns a namespace whose objects live in the places of their names. */
export function placeObjects<T>(namespace: NamedObjects<T>, find: (name: string) => Placement): NamedObjects<T> {
	return {
		idFromName: (name) => createId(namespace, find(name), (placed) => placed.idFromName(name)),
		get: (id) => getObject(namespace, id),
	};
}

export interface PlacedSessions {
	/** Finds sessions by their ids, in all jurisdictions. */
	readonly sessions: Pick<SessionNamespace, 'idFromString' | 'get'>;
	/** Returns what makes the ids of sessions, in the place of their owner and agent. Throws like `findSessionPlace`. */
	readonly placeSessions: (whose: Whose) => Omit<SessionNamespace, 'get'>;
	/** Returns the jurisdiction in which a session lives, by its id. */
	readonly findJurisdiction: (session: SessionRef) => string | undefined;
	/** Throws `not_configured` for a session that lives in another jurisdiction than a new one would. */
	readonly assertPlaced: (session: SessionRef) => void;
}

/** A namespace without a jurisdiction takes all ids. A namespace with a jurisdiction throws for the ids of others. */
export function placeSessions(namespace: SessionNamespace, { findSessionPlace }: Places): PlacedSessions {
	const findJurisdiction: PlacedSessions['findJurisdiction'] = ({ id, ...whose }) => {
		try {
			const { jurisdiction } = findSessionPlace(whose);
			return findWithin(namespace, jurisdiction).idFromString(id).jurisdiction ?? jurisdiction;
		} catch {
			return namespace.idFromString(id).jurisdiction;
		}
	};
	return {
		sessions: { idFromString: (id) => namespace.idFromString(id), get: (id) => getObject(namespace, id) },
		placeSessions: (whose) => {
			const place = findSessionPlace(whose);
			return {
				newUniqueId: () => createId(namespace, place, (placed) => placed.newUniqueId()),
				idFromName: (name) => createId(namespace, place, (placed) => placed.idFromName(name)),
				idFromString: (id) => createId(namespace, { ...place, jurisdiction: undefined }, (all) => all.idFromString(id)),
			};
		},
		findJurisdiction,
		assertPlaced: (session) => {
			const { jurisdiction = 'none' } = findSessionPlace(session);
			if ((findJurisdiction(session) ?? 'none') === jurisdiction) return;
			const message = `The jurisdiction of this session has changed to ${jurisdiction} (JURISDICTION, OWNER_PLACES or the agent's placement). Set the former one again.`;
			throw new RunletError('not_configured', message);
		},
	};
}

/** The hints of ids that this isolate made. Only the first call of an object needs its hint. */
const hints = new WeakMap<DurableObjectId, DurableObjectLocationHint>();

function createId<N extends object>(
	namespace: N,
	{ jurisdiction, locationHint }: Placement,
	create: (placed: N) => DurableObjectId,
): DurableObjectId {
	const id = create(findWithin(namespace, jurisdiction));
	if (locationHint !== undefined) hints.set(id, locationHint);
	return id;
}

function getObject<T>(namespace: Namespace<T>, id: DurableObjectId): T {
	const locationHint = hints.get(id);
	return locationHint === undefined ? namespace.get(id) : namespace.get(id, { locationHint });
}

/** Throws `not_configured` if the runtime has no jurisdictions. */
function findWithin<N extends object>(namespace: N, jurisdiction: string | undefined): N {
	if (jurisdiction === undefined) return namespace;
	const find: unknown = Reflect.get(namespace, 'jurisdiction');
	if (typeof find === 'function') return find.call(namespace, jurisdiction);
	throw new RunletError('not_configured', 'JURISDICTION: this runtime has none. Leave it out.');
}
