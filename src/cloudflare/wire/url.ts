import * as v from 'valibot';
import { isPublicUrl } from '../../core/ground/public-fetch.ts';

/**
 * The URL of a file in a message. It must be public: a tool or a model's server may fetch it from inside a network that
 * the client itself cannot reach.
 */
export const fileUrlField = v.pipe(
	v.string(),
	v.maxLength(2_048, 'at most 2048 characters'),
	v.check(isPublicUrl, 'Expected an https URL at a public name, without a user, a password or a port'),
);
