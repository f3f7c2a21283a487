import * as v from 'valibot';
import { isPublicUrl } from '../../core/ground/public-url.ts';

/**
 * The URL of a file that comes with a message. A tool, or the server of a model, may fetch it from inside a network that
 * the client does not reach by itself.
 */
export const fileUrlField = v.pipe(
	v.string(),
	v.maxLength(2_048, 'at most 2048 characters'),
	v.check(isPublicUrl, 'Expected an https URL at a public name, without a user, a password or a port'),
);
