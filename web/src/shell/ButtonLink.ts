import { Button } from '@mantine/core';
import { createLink } from '@tanstack/react-router';

/** A link of the router that looks like a button. */
export const ButtonLink = createLink(Button<'a'>);
