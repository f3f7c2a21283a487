import type { DurableObject as Base } from 'cloudflare:workers';

type Platform = Pick<typeof import('cloudflare:workers'), 'DurableObject'>;

/**
 * The classes of the platform. Elsewhere, where tests load the file of an agent, they are empty.
 */
async function loadPlatform(): Promise<Platform> {
	try {
		return await import('cloudflare:workers');
	} catch {
		// SAFETY: Outside of Workers no object is ever made, so nothing of its class is used.
		return { DurableObject: class {} } as unknown as Platform;
	}
}

/** The base class of Durable Objects. */
export const { DurableObject } = await loadPlatform();
export type DurableObject<Env = unknown> = Base<Env>;
