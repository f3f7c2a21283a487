import { digest } from './digest.ts';
import { researcher } from './researcher.ts';
import { support } from './support.ts';

export const agents = [support, researcher, digest];
